#include "io/residues.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"
#include "io/bit_packing.hpp"
#include "io/compression.hpp"

namespace hemera::io {
namespace {

constexpr std::size_t fixed_bytes = 24;
constexpr std::size_t most_moduli = 4096;  // more than any parameters have
constexpr std::uint64_t modulus_end = std::uint64_t{1} << arith::max_modulus_bits;

// Why no file may have this layout, or nothing. Moduli and degree first: `element_bytes` relies on them.
std::optional<std::string> problem(const ResidueLayout& layout) {
  if (!poly::is_entry_count(layout.degree, poly::max_degree)) {
    return "degree " + std::to_string(layout.degree) + " is no power of two from 2^6 to 2^17";
  }
  if (layout.batch == 0 || layout.components == 0 || layout.moduli.empty()) {
    return "an extent of the array is zero";
  }
  const std::uint64_t end = layout.word == poly::Word::u32 ? std::uint64_t{1} << 32 : modulus_end;
  for (const std::uint64_t modulus : layout.moduli) {
    if (modulus < 2 || modulus >= end) {
      return "modulus " + std::to_string(modulus) + " is outside 2 to " + std::to_string(end - 1);
    }
  }
  // Neither bytes nor words in memory may overflow.
  std::size_t room = SIZE_MAX / sizeof(std::uint64_t) / layout.degree;
  for (const std::size_t extent : {layout.moduli.size(), layout.components, layout.batch}) {
    room /= extent;
  }
  if (room == 0) {
    return "the array of " + std::to_string(layout.batch) + " x " + std::to_string(layout.components) +
           " x " + std::to_string(layout.moduli.size()) + " x " + std::to_string(layout.degree) +
           " residues does not fit the address space";
  }
  return {};
}

ResidueLayout read_layout(runtime::ByteReader& in) {
  ResidueLayout layout;
  const std::uint8_t word = in.u8();
  if (word != 4 && word != 8) {
    in.fail("words of " + std::to_string(word) + " bytes where only 4 and 8 exist");
  }
  layout.word = static_cast<poly::Word>(word);
  layout.form = in.boolean() ? poly::Form::evaluation : poly::Form::coefficient;
  layout.packed = in.boolean();
  if (in.u8() != 0) {
    in.fail("a reserved field is not zero");
  }
  layout.degree = in.u32();
  layout.batch = in.u64();
  layout.components = in.u32();
  layout.moduli = in.u64s();
  if (const auto what = problem(layout)) {
    in.fail(*what);
  }
  return layout;
}

void write_layout(runtime::ByteWriter& out, const ResidueLayout& layout) {
  out.u8(static_cast<std::uint8_t>(layout.word));
  out.boolean(layout.form == poly::Form::evaluation);
  out.boolean(layout.packed);
  out.u8(0);
  out.u32(static_cast<std::uint32_t>(layout.degree));
  out.u64(layout.batch);
  out.u32(static_cast<std::uint32_t>(layout.components));
  out.u64s(layout.moduli);
}

// Bits that a residue takes in the file.
unsigned stored_bits(const ResidueLayout& layout, std::size_t limb) {
  return layout.packed ? residue_bits(layout.moduli[limb]) : 8 * static_cast<unsigned>(layout.word);
}

// That so many bytes follow the layout as its residues take.
void require_size(const runtime::ByteReader& in, const ResidueLayout& layout, std::size_t bytes) {
  // batch * element_bytes() can not overflow: packed or not, a residue takes no more than a word.
  const std::size_t expected = layout.batch * layout.element_bytes();
  if (bytes != expected) {
    in.fail("an array of " + std::to_string(layout.batch) + " x " + std::to_string(layout.components) +
            " x " + std::to_string(layout.moduli.size()) + " x " + std::to_string(layout.degree) +
            " residues takes " + std::to_string(expected) + " bytes and " + std::to_string(bytes) +
            " are there");
  }
}

// One limb; its place is for the message.
void unpack(std::span<const std::byte> stored, const ResidueLayout& layout, std::size_t index,
            std::size_t component, std::size_t limb, std::span<std::uint64_t> out) {
  const std::uint64_t modulus = layout.moduli[limb];
  if (!unpack_bits(stored, stored_bits(layout, limb), modulus, out)) {
    throw FormatError("a residue in element " + std::to_string(index) + ", component " +
                      std::to_string(component) + ", limb " + std::to_string(limb) +
                      " is not below its modulus " + std::to_string(modulus));
  }
}

}  // namespace

void require_not_both(const ResidueLayout& layout, const Section& section) {
  if (section.compressed && layout.packed) {
    throw FormatError("a section of residues is both packed and compressed");
  }
}

std::size_t ResidueLayout::limb_bytes(std::size_t limb) const {
  return degree / 8 * stored_bits(*this, limb);
}

std::size_t ResidueLayout::element_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t limb = 0; limb < moduli.size(); ++limb) {
    bytes += limb_bytes(limb);
  }
  return components * bytes;
}

std::size_t ResidueLayout::section_bytes() const {
  return fixed_bytes + moduli.size() * sizeof(std::uint64_t) + batch * element_bytes();
}

ResidueWriter::ResidueWriter(ResidueLayout layout, runtime::Secrecy secrecy)
    : layout_(std::move(layout)), secrecy_(secrecy) {
  if (const auto what = problem(layout_)) {
    throw ParameterError("residues can not be saved: " + *what);
  }
  runtime::ByteWriter out;
  write_layout(out, layout_);
  data_.reserve(layout_.section_bytes());
  data_.assign(out.view().begin(), out.view().end());
  written_ = data_.size();
  data_.resize(layout_.section_bytes());
}

ResidueWriter::~ResidueWriter() {
  if (secrecy_ == runtime::Secrecy::secret) {
    runtime::secure_zero(data_.data(), data_.size());
  }
}

void ResidueWriter::element(std::span<const std::uint64_t> residues) {
  const std::size_t degree = layout_.degree;
  if (residues.size() != layout_.element_words() || data_.size() - written_ < layout_.element_bytes()) {
    throw MismatchError("an element of " + std::to_string(residues.size()) +
                        " residues does not fit an array of " + std::to_string(layout_.batch) +
                        " elements of " + std::to_string(layout_.element_words()));
  }
  std::size_t row = 0;
  for (std::size_t component = 0; component < layout_.components; ++component) {
    for (std::size_t limb = 0; limb < layout_.moduli.size(); ++limb, ++row) {
      const auto values = residues.subspan(row * degree, degree);  // [component, limb, N]
      std::uint64_t largest = 0;
      for (const std::uint64_t value : values) {
        largest = std::max(largest, value);
      }
      if (largest >= layout_.moduli[limb]) {
        throw MismatchError("a residue modulo " + std::to_string(layout_.moduli[limb]) + " is " +
                            std::to_string(largest) + ": the object is damaged in memory; make it again");
      }
      const std::size_t bytes = layout_.limb_bytes(limb);
      pack_bits(values, stored_bits(layout_, limb), std::span(data_).subspan(written_, bytes));
      written_ += bytes;
    }
  }
}

std::span<const std::byte> ResidueWriter::section() const {
  if (written_ != data_.size()) {
    throw MismatchError("an array of " + std::to_string(layout_.batch) + " elements is not complete");
  }
  return data_;
}

ResidueReader::ResidueReader(std::span<const std::byte> section) {
  runtime::ByteReader in(section, "the RESI section");
  layout_ = read_layout(in);
  require_size(in, layout_, in.remaining());
  data_ = in.bytes(in.remaining());
}

void ResidueReader::limb(std::size_t index, std::size_t component, std::size_t limb, std::size_t position,
                         std::span<std::uint64_t> out) const {
  unpack(data_.subspan(position, layout_.limb_bytes(limb)), layout_, index, component, limb, out);
}

void ResidueReader::element(std::size_t index, std::span<std::uint64_t> out) const {
  if (index >= layout_.batch || out.size() != layout_.element_words()) {
    throw MismatchError("element " + std::to_string(index) + " with " + std::to_string(out.size()) +
                        " residues does not fit an array of " + std::to_string(layout_.batch) +
                        " elements of " + std::to_string(layout_.element_words()));
  }
  std::size_t position = index * layout_.element_bytes();
  std::size_t row = 0;
  for (std::size_t component = 0; component < layout_.components; ++component) {
    for (std::size_t l = 0; l < layout_.moduli.size(); ++l, ++row) {
      limb(index, component, l, position, out.subspan(row * layout_.degree, layout_.degree));
      position += layout_.limb_bytes(l);
    }
  }
}

ResidueLayout check_residues(const Section& section) {
  // Zeroed in the end, for they may be secret.
  struct Values : std::vector<std::uint64_t> {
    using vector::vector;
    ~Values() { runtime::secure_zero(data(), size() * sizeof(std::uint64_t)); }
  };
  std::optional<Decompressor> frames;
  if (section.compressed) frames.emplace(section.stored);
  std::vector<std::byte> part;
  std::span<const std::byte> stored = section.stored;
  // The next bytes: of the file, or in `part`.
  const auto next = [&](std::size_t bytes) -> std::span<const std::byte> {
    if (!frames) {
      const auto result = stored.first(bytes);
      stored = stored.subspan(bytes);
      return result;
    }
    part.resize(bytes);
    frames->read(part);
    return part;
  };

  // The layout's length is known after its fixed part, which ends in the number of moduli.
  const auto bytes = static_cast<std::size_t>(section.raw_bytes);
  const auto fixed = next(std::min(bytes, fixed_bytes));
  std::vector<std::byte> head(fixed.begin(), fixed.end());
  if (head.size() == fixed_bytes) {
    runtime::ByteReader in(head, "the RESI section");
    static_cast<void>(in.bytes(fixed_bytes - sizeof(std::uint32_t)));
    const std::size_t moduli = std::min<std::size_t>(in.u32(), (bytes - fixed_bytes) / sizeof(std::uint64_t));
    const auto values = next(std::min(moduli, most_moduli) * sizeof(std::uint64_t));
    head.insert(head.end(), values.begin(), values.end());
  }
  runtime::ByteReader in(head, "the RESI section");
  const ResidueLayout layout = read_layout(in);
  require_size(in, layout, bytes - in.position());
  require_not_both(layout, section);

  Values residues(layout.degree);
  for (std::size_t index = 0; index < layout.batch; ++index) {
    for (std::size_t component = 0; component < layout.components; ++component) {
      for (std::size_t limb = 0; limb < layout.moduli.size(); ++limb) {
        unpack(next(layout.limb_bytes(limb)), layout, index, component, limb, residues);
      }
    }
  }
  if (frames) frames->expect_end();
  return layout;
}

}  // namespace hemera::io
