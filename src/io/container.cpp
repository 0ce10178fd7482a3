#include "hemera/io/container.hpp"

#include <algorithm>
#include <string>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/checksum.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "io/compression.hpp"

namespace hemera::io {
namespace {

// A magic as PNG's: a byte that is no text, and line ends that a text-mode transfer changes.
constexpr std::array<std::uint8_t, 8> magic = {0x89, 'H', 'E', 'M', '\r', '\n', 0x1A, '\n'};
constexpr std::uint32_t zstd_flag = 1;

bool starts_with(std::span<const std::byte> data, std::span<const std::uint8_t> prefix) {
  return data.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), data.begin(),
                    [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
}

// The magic after a text-mode transfer or a strict 7-bit channel.
bool looks_like_damaged_magic(std::span<const std::byte> data) {
  constexpr std::array<std::uint8_t, 5> unix_ends = {0x89, 'H', 'E', 'M', '\n'};
  constexpr std::array<std::uint8_t, 6> double_returns = {0x89, 'H', 'E', 'M', '\r', '\r'};
  constexpr std::array<std::uint8_t, 4> seven_bits = {0x09, 'H', 'E', 'M'};
  constexpr std::array<std::uint8_t, 5> recoded = {0xC2, 0x89, 'H', 'E', 'M'};
  constexpr std::array<std::uint8_t, 6> replaced = {0xEF, 0xBF, 0xBD, 'H', 'E', 'M'};
  return starts_with(data, unix_ends) || starts_with(data, double_returns) || starts_with(data, seven_bits) ||
         starts_with(data, recoded) || starts_with(data, replaced);
}

// Each section's checksum depends on its file and place, so that no section of another file or place passes.
std::uint64_t section_seed(const Header& header, std::uint64_t index) { return header.checksum + index; }

std::string place(Tag tag, std::size_t index) {
  return "section " + std::to_string(index) + " (" + tag.text() + ")";
}

}  // namespace

Header read_header(std::span<const std::byte> file) {
  if (file.empty()) {
    throw FormatError("not a Hemera file: it is empty");
  }
  if (!starts_with(file, std::span(magic).first(std::min(file.size(), magic.size())))) {
    if (looks_like_damaged_magic(file)) {
      throw FormatError(
          "a Hemera file damaged by a transfer that treats it as text (line ends or characters were "
          "changed); "
          "transfer it in binary mode");
    }
    throw FormatError("not a Hemera file: it does not begin with the format's eight magic bytes");
  }
  if (file.size() < Header::bytes) {
    throw FormatError("a truncated Hemera file: " + std::to_string(file.size()) +
                      " bytes, less than a header of " + std::to_string(Header::bytes));
  }
  runtime::ByteReader in(file.first(Header::bytes), "the file header");
  static_cast<void>(in.bytes(magic.size()));
  Header header;
  header.version = in.u16();
  const std::uint16_t kind = in.u16();
  const std::uint32_t flags = in.u32();
  const auto fingerprint = in.bytes(header.fingerprint.size());
  std::transform(fingerprint.begin(), fingerprint.end(), header.fingerprint.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  header.sections = in.u32();
  const std::uint32_t reserved = in.u32();
  // Header layout and checksum are the same in every version, so damage can be distinguished from a newer
  // version.
  const std::uint64_t actual = runtime::checksum(0, file.first(in.position()));
  header.checksum = in.u64();
  if (header.checksum != actual) {
    throw FormatError("the file header is damaged: its checksum does not fit; fetch the file again");
  }
  if (header.version == 0 || header.version > newest_format) {
    throw FormatError("format version " + std::to_string(header.version) +
                      " is not known, only versions 1 to " + std::to_string(newest_format) +
                      "; load the file with a newer Hemera");
  }
  if (kind == 0 || kind > static_cast<std::uint16_t>(last_kind)) {
    throw FormatError("the file header names an unknown kind of object, " + std::to_string(kind));
  }
  if (flags != 0 || reserved != 0) {
    throw FormatError("the file header uses flags that version " + std::to_string(header.version) +
                      " does not have");
  }
  header.kind = static_cast<Kind>(kind);
  return header;
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::parameters:
      return "parameters";
    case Kind::plaintext:
      return "plaintext";
    case Kind::ciphertext:
      return "ciphertext";
    case Kind::secret_key:
      return "secret key";
    case Kind::public_key:
      return "public key";
    case Kind::switching_key:
      return "switching key";
    case Kind::evaluation_keys:
      return "evaluation keys";
    case Kind::needed_keys:
      return "needed keys";
  }
  return "unknown";
}

std::string Tag::text() const {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) {
    const auto character = static_cast<char>((value >> (8 * i)) & 0xFF);
    out += character > 0x20 && character < 0x7F ? character : '?';
  }
  return out;
}

Writer::Writer(Sink& sink, std::uint16_t version, Kind kind, const Fingerprint& fingerprint,
               std::uint32_t sections)
    : sink_(sink) {
  header_.version = version;
  header_.kind = kind;
  header_.fingerprint = fingerprint;
  header_.sections = sections;
  runtime::ByteWriter out;
  out.bytes(std::span(magic));
  out.u16(header_.version);
  out.u16(static_cast<std::uint16_t>(kind));
  out.u32(0);
  out.bytes(std::span(fingerprint));
  out.u32(sections);
  out.u32(0);
  header_.checksum = runtime::checksum(0, out.view());
  out.u64(header_.checksum);
  sink_.write(out.view());
}

runtime::ByteWriter Writer::begin_section(Tag tag, std::uint32_t flags, std::size_t stored_bytes,
                                          std::size_t raw_bytes) const {
  if (written_ == header_.sections) {
    throw ParameterError("a file announced with " + std::to_string(header_.sections) +
                         " sections can not take another one");
  }
  runtime::ByteWriter out;
  out.u32(tag.value);
  out.u32(flags);
  out.u64(stored_bytes);
  out.u64(raw_bytes);
  return out;
}

void Writer::emit(Tag tag, std::uint32_t flags, std::span<const std::byte> stored, std::size_t raw_bytes) {
  runtime::ByteWriter out = begin_section(tag, flags, stored.size(), raw_bytes);
  out.u64(runtime::checksum(section_seed(header_, written_), out.view(), stored));
  sink_.write(out.view());
  sink_.write(stored);
  ++written_;
}

void Writer::section(Tag tag, std::span<const std::byte> payload, int compression_level) {
  if (compression_level != 0) {
    const auto compressed = compress(payload, compression_level, Reader::expansion_limit);
    if (compressed.size() < payload.size()) {
      emit(tag, zstd_flag, compressed, payload.size());
      return;
    }
  }
  emit(tag, 0, payload, payload.size());
}

void Writer::section(Tag tag, std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) {
  const std::span<std::byte> place = sink_.room(Section::header_bytes + bytes);
  if (place.empty()) {
    if (payload_.size() < bytes) {
      payload_ = {};
      payload_ =
          runtime::Buffer(runtime::make_host_memory(0), std::max(bytes, largest_), runtime::Secrecy::secret);
    }
    const std::span<std::byte> payload(payload_.data(), bytes);
    fill(payload);
    return emit(tag, 0, payload, bytes);
  }
  const std::span<std::byte> payload = place.subspan(Section::header_bytes);
  runtime::ByteWriter out = begin_section(tag, 0, bytes, bytes);
  fill(payload);
  out.u64(runtime::checksum(section_seed(header_, written_), out.view(), payload));
  std::copy(out.view().begin(), out.view().end(), place.begin());
  ++written_;
}

void Writer::compressed_section(Tag tag, std::span<const std::byte> frames, std::size_t raw_bytes) {
  emit(tag, zstd_flag, frames, raw_bytes);
}

void Writer::finish() const {
  if (written_ != header_.sections) {
    throw ParameterError("a file announced with " + std::to_string(header_.sections) + " sections got " +
                         std::to_string(written_));
  }
}

Payload Section::payload() const {
  if (!compressed) {
    return Payload(stored);
  }
  return Payload(decompress(stored, static_cast<std::size_t>(raw_bytes)));
}

namespace {

constexpr const char* after_header = "the file after its header";

void require_room(std::size_t sections, std::uint64_t left) {
  if (sections > left / Section::header_bytes) {
    throw FormatError("a truncated Hemera file: " + std::to_string(sections) +
                      " sections can not fit into the " + std::to_string(left) + " bytes after the header");
  }
}

// The section at the place of `in`, which reads `bytes`.
Section next_section(runtime::ByteReader& in, std::span<const std::byte> bytes, const Header& header,
                     std::size_t index) {
  if (in.remaining() < Section::header_bytes) {
    in.fail("truncated within the header of section " + std::to_string(index) + " of " +
            std::to_string(header.sections));
  }
  const auto section_header = bytes.subspan(in.position(), Section::header_bytes);
  Section section;
  section.tag = Tag(in.u32());
  const std::uint32_t flags = in.u32();
  const std::uint64_t stored_bytes = in.u64();
  section.raw_bytes = in.u64();
  section.checksum = in.u64();
  if (stored_bytes > in.remaining()) {
    in.fail(place(section.tag, index) + " is truncated or damaged: " + std::to_string(stored_bytes) +
            " bytes were announced and " + std::to_string(in.remaining()) + " are left");
  }
  section.stored = in.bytes(static_cast<std::size_t>(stored_bytes));
  if (section.checksum != runtime::checksum(section_seed(header, index),
                                            section_header.first(Section::header_bytes - 8),
                                            section.stored)) {
    in.fail(place(section.tag, index) + " is damaged: its checksum does not fit; fetch the file again");
  }
  if ((flags & ~zstd_flag) != 0) {
    in.fail(place(section.tag, index) + " uses flags that version " + std::to_string(header.version) +
            " does not have");
  }
  section.compressed = flags == zstd_flag;
  if (section.compressed ? section.raw_bytes / Reader::expansion_limit > stored_bytes
                         : section.raw_bytes != stored_bytes) {
    in.fail(place(section.tag, index) + " claims " + std::to_string(section.raw_bytes) +
            " bytes of content in " + std::to_string(stored_bytes) + " stored bytes");
  }
  return section;
}

std::string bytes_follow(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes follow the last section";
}

Header header_of(const Content& content) {
  std::array<std::byte, Header::bytes> begin{};
  const auto bytes =
      std::span(begin).first(static_cast<std::size_t>(std::min<std::uint64_t>(content.size(), begin.size())));
  content.read(0, bytes);
  return read_header(bytes);
}

}  // namespace

Reader::Reader(std::span<const std::byte> file) : header_(read_header(file)) {
  const auto bytes = file.subspan(Header::bytes);
  runtime::ByteReader in(bytes, after_header);
  require_room(header_.sections, in.remaining());
  sections_.reserve(header_.sections);
  for (std::size_t index = 0; index < header_.sections; ++index) {
    sections_.push_back(next_section(in, bytes, header_, index));
  }
  if (in.remaining() != 0) in.fail(bytes_follow(in.remaining()));
}

Reader::Reader(const Content& content) : header_(header_of(content)), sections_(1), content_(&content) {}

const Section& Reader::read_section() {
  const std::uint64_t left = content_->size() - begin_;
  require_room(sections_left(), left);
  std::array<std::byte, Section::header_bytes> head{};
  auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, head.size()));
  content_->read(begin_, std::span(head).first(bytes));
  runtime::ByteReader announced(head, after_header);
  static_cast<void>(announced.u64());
  if (bytes == head.size()) bytes += static_cast<std::size_t>(std::min(left - bytes, announced.u64()));
  if (room_.size() < bytes) {
    room_ = {};
    room_ = runtime::Buffer(runtime::make_host_memory(0), bytes);
  }
  const std::span<std::byte> all(room_.data(), bytes);
  content_->read(begin_, all);
  runtime::ByteReader in(all, after_header);
  sections_[0] = next_section(in, all, header_, position_);
  begin_ += bytes;
  return sections_[0];
}

namespace {

bool is_plural(Kind kind) { return kind >= Kind::evaluation_keys || kind == Kind::parameters; }

std::string with_article(Kind kind) { return (is_plural(kind) ? "" : "a ") + std::string(name(kind)); }

}  // namespace

void Header::expect_kind(Kind expected) const {
  if (kind != expected) {
    throw MismatchError("the file holds " + with_article(kind) + " where " + with_article(expected) +
                        (is_plural(expected) ? " were" : " was") + " expected");
  }
}

void Header::expect_fingerprint(const Fingerprint& expected) const {
  if (fingerprint != expected) {
    throw MismatchError("the " + std::string(name(kind)) + " in the file belongs to parameters " +
                        runtime::to_hex(std::span(fingerprint).first(4)) +
                        " and the context has parameters " + runtime::to_hex(std::span(expected).first(4)) +
                        "; load it in a context made from the parameters that it was saved with");
  }
}

const Section& Reader::next(Tag tag) {
  if (sections_left() == 0) {
    throw FormatError("the file has no " + tag.text() + " section, which a " +
                      std::string(name(header_.kind)) + " needs");
  }
  const Section& section = content_ != nullptr ? read_section() : sections_[position_];
  if (section.tag != tag) {
    throw FormatError(place(section.tag, position_) + " stands where a " + std::string(name(header_.kind)) +
                      " has its " + tag.text() + " section");
  }
  ++position_;
  return section;
}

void Reader::expect_end() const {
  if (sections_left() != 0) {
    throw FormatError(std::to_string(sections_left()) + " more sections are unexpected in a " +
                      std::string(name(header_.kind)));
  }
  if (content_ != nullptr && begin_ != content_->size()) {
    throw FormatError(std::string(after_header) + ": " + bytes_follow(content_->size() - begin_));
  }
}

}  // namespace hemera::io
