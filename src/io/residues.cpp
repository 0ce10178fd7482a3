#include "io/residues.hpp"

#include <algorithm>
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
  for (const std::size_t extent : {layout.moduli.size(), layout.components, layout.batch}) room /= extent;
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
  if (word != 4 && word != 8) in.fail("words of " + std::to_string(word) + " bytes where only 4 and 8 exist");
  layout.word = static_cast<poly::Word>(word);
  layout.form = in.boolean() ? poly::Form::evaluation : poly::Form::coefficient;
  layout.packed = in.boolean();
  if (in.u8() != 0) in.fail("a reserved field is not zero");
  layout.degree = in.u32();
  layout.batch = in.size();
  layout.components = in.u32();
  layout.moduli = in.u64s();
  if (const auto what = problem(layout)) in.fail(*what);
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

// Throws FormatError unless as many bytes follow the layout as its residues take.
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

// Bytes from a component's first limb to each.
std::vector<std::size_t> limb_begins(const ResidueLayout& layout) {
  std::vector<std::size_t> begins;
  for (std::size_t limb = 0, begin = 0; limb < layout.moduli.size(); ++limb) {
    begins.push_back(begin);
    begin += layout.limb_bytes(limb);
  }
  return begins;
}

// Compares with moduli up to 2^63. Without branches and comparisons, which vectors of 64 bits may lack.
bool all_below(std::span<const std::uint64_t> values, std::uint64_t modulus) {
  std::uint64_t signs = 0;
  for (const std::uint64_t value : values) signs |= value | (modulus - 1 - value);
  return signs >> 63 == 0;
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

std::size_t ResidueLayout::limb_bytes(std::size_t limb) const {
  return degree / 8 * stored_bits(*this, limb);
}

std::size_t ResidueLayout::element_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t limb = 0; limb < moduli.size(); ++limb) bytes += limb_bytes(limb);
  return components * bytes;
}

std::size_t ResidueLayout::section_bytes() const {
  return fixed_bytes + moduli.size() * sizeof(std::uint64_t) + batch * element_bytes();
}

ResidueWriter::ResidueWriter(std::span<std::byte> section, ResidueLayout layout)
    : layout_(std::move(layout)) {
  if (const auto what = problem(layout_)) {
    throw ParameterError("residues can not be saved: " + *what);
  }
  if (section.size() != layout_.section_bytes()) {
    throw MismatchError("a section of " + std::to_string(layout_.section_bytes()) +
                        " bytes does not fit memory of " + std::to_string(section.size()));
  }
  runtime::ByteWriter out;
  write_layout(out, layout_);
  std::copy(out.view().begin(), out.view().end(), section.begin());
  residues_ = section.subspan(out.size());
  limb_begin_ = limb_begins(layout_);
}

void ResidueWriter::rows(std::size_t first, std::span<const std::uint64_t> residues) {
  const std::size_t degree = layout_.degree;
  const std::size_t limbs = layout_.moduli.size();
  const std::size_t count = residues.size() / degree;
  const std::size_t all = layout_.batch * layout_.components * limbs;
  if (residues.size() % degree != 0 || first > all || count > all - first) {
    throw MismatchError(std::to_string(residues.size()) + " residues from row " + std::to_string(first) +
                        " on do not fit an array of " + std::to_string(all) + " rows of " +
                        std::to_string(degree));
  }
  const std::size_t component_bytes = layout_.element_bytes() / layout_.components;
  for (std::size_t row = first; row < first + count; ++row) {
    const auto values = residues.subspan((row - first) * degree, degree);
    const std::size_t limb = row % limbs;
    const std::uint64_t modulus = layout_.moduli[limb];
    if (!all_below(values, modulus)) {
      throw MismatchError("a residue modulo " + std::to_string(modulus) + " is " +
                          std::to_string(*std::max_element(values.begin(), values.end())) +
                          ": the object is damaged in memory; make it again");
    }
    pack_bits(values, stored_bits(layout_, limb),
              residues_.subspan(row / limbs * component_bytes + limb_begin_[limb], layout_.limb_bytes(limb)));
  }
}

ResidueReader::ResidueReader(std::span<const std::byte> section) {
  runtime::ByteReader in(section, "the RESI section");
  layout_ = read_layout(in);
  require_size(in, layout_, in.remaining());
  data_ = in.bytes(in.remaining());
  limb_begin_ = limb_begins(layout_);
}

void ResidueReader::rows(std::size_t first, std::span<std::uint64_t> out) const {
  const std::size_t degree = layout_.degree;
  const std::size_t limbs = layout_.moduli.size();
  const std::size_t count = out.size() / degree;
  const std::size_t all = layout_.batch * layout_.components * limbs;
  if (out.size() % degree != 0 || first > all || count > all - first) {
    throw MismatchError(std::to_string(out.size()) + " residues from row " + std::to_string(first) +
                        " on do not fit an array of " + std::to_string(all) + " rows of " +
                        std::to_string(degree));
  }
  const std::size_t component_bytes = layout_.element_bytes() / layout_.components;
  for (std::size_t row = first; row < first + count; ++row) {
    const std::size_t limb = row % limbs;
    const std::size_t component = row / limbs;
    unpack(data_.subspan(component * component_bytes + limb_begin_[limb], layout_.limb_bytes(limb)), layout_,
           component / layout_.components, component % layout_.components, limb,
           out.subspan((row - first) * degree, degree));
  }
}

// The bytes of a section, one part after the other.
struct ResidueStream::Bytes {
  std::span<const std::byte> stored;
  std::optional<Decompressor> frames;
  std::vector<std::byte> part;

  explicit Bytes(const Section& section) : stored(section.stored) {
    if (section.compressed) frames.emplace(section.stored);
  }
  // The next ones: of the file, or in `part`.
  std::span<const std::byte> next(std::size_t bytes) {
    if (!frames) {
      const auto result = stored.first(bytes);
      stored = stored.subspan(bytes);
      return result;
    }
    part.resize(bytes);
    frames->read(part);
    return part;
  }
};

ResidueStream::ResidueStream(const Section& section) : bytes_(std::make_unique<Bytes>(section)) {
  // The layout's length is known after its fixed part, which ends in the number of moduli.
  const auto bytes = static_cast<std::size_t>(section.raw_bytes);
  const auto fixed = bytes_->next(std::min(bytes, fixed_bytes));
  std::vector<std::byte> head(fixed.begin(), fixed.end());
  if (head.size() == fixed_bytes) {
    runtime::ByteReader in(head, "the RESI section");
    static_cast<void>(in.bytes(fixed_bytes - sizeof(std::uint32_t)));
    const std::size_t moduli = std::min<std::size_t>(in.u32(), (bytes - fixed_bytes) / sizeof(std::uint64_t));
    const auto values = bytes_->next(std::min(moduli, most_moduli) * sizeof(std::uint64_t));
    head.insert(head.end(), values.begin(), values.end());
  }
  runtime::ByteReader in(head, "the RESI section");
  layout_ = read_layout(in);
  require_size(in, layout_, bytes - in.position());
  // Both would multiply the two limits on expansion.
  if (section.compressed && layout_.packed) {
    throw FormatError("a section of residues is both packed and compressed");
  }
}

ResidueStream::~ResidueStream() = default;

void ResidueStream::next(std::span<std::uint64_t> out) {
  const std::size_t limbs = layout_.moduli.size();
  const std::size_t component = row_ / limbs;
  const std::size_t limb = row_ % limbs;
  if (component == layout_.batch * layout_.components) {
    throw FormatError("the RESI section has no more residues");
  }
  unpack(bytes_->next(layout_.limb_bytes(limb)), layout_, component / layout_.components,
         component % layout_.components, limb, out);
  ++row_;
}

void ResidueStream::expect_end() {
  if (bytes_->frames) bytes_->frames->expect_end();
}

ResidueLayout check_residues(const Section& section) {
  // Zeroed in the end, for they may be secret.
  struct Values : std::vector<std::uint64_t> {
    using vector::vector;
    ~Values() { runtime::secure_zero(data(), size() * sizeof(std::uint64_t)); }
  };
  ResidueStream stream(section);
  const ResidueLayout& layout = stream.layout();
  Values residues(layout.degree);
  const std::size_t rows = layout.batch * layout.components * layout.moduli.size();
  for (std::size_t row = 0; row < rows; ++row) stream.next(residues);
  stream.expect_end();
  return layout;
}

}  // namespace hemera::io
