#include "interop/seal/container.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "interop/seal/content.hpp"
#include "interop/seal/words.hpp"

namespace hemera::interop::seal {
namespace {

constexpr std::uint16_t magic = 0xA15E;
constexpr std::uint8_t major_version = 4;

Header read_header(std::span<const std::byte> data, const std::string& what) {
  runtime::ByteReader in(data, what);
  if (in.u16() != magic || in.u8() != Header::bytes) in.fail("these bytes are no SEAL object");
  const std::uint8_t major = in.u8();
  Header header;
  header.minor_version = in.u8();
  if (major != major_version) {
    in.fail("written by SEAL " + std::to_string(major) + "." + std::to_string(header.minor_version) +
            "; only SEAL 4 is read: load it with SEAL 4 and save it again");
  }
  const std::uint8_t compression = in.u8();
  if (compression > static_cast<std::uint8_t>(Compression::zstd)) {
    in.fail("unknown compression " + std::to_string(compression));
  }
  header.compression = static_cast<Compression>(compression);
  if (in.u16() != 0) in.fail("the reserved bytes of the header are not 0");
  header.size = in.u64();
  if (header.size < Header::bytes) in.fail("the header gives a size that is less than its own");
  return header;
}

}  // namespace

bool looks_like_seal(std::span<const std::byte> file) {
  return file.size() >= 3 && std::to_integer<unsigned>(file[0]) == (magic & 0xFF) &&
         std::to_integer<unsigned>(file[1]) == magic >> 8 &&
         std::to_integer<unsigned>(file[2]) == Header::bytes;
}

Reader::Reader(std::span<const std::byte> file, std::string what)
    : what_(std::move(what)), header_(read_header(file, what_)) {
  if (header_.size != file.size()) {
    fail("the header gives a size of " + std::to_string(header_.size) + " bytes, and there are " +
         std::to_string(file.size()) + "; a source holds one whole object");
  }
  content_ = make_content(file.subspan(Header::bytes), header_.compression);
}

Reader::~Reader() = default;

void Reader::fail(const std::string& problem) const { throw FormatError(what_ + ": " + problem); }

void Reader::bytes(std::span<std::byte> out) {
  try {
    content_->read(out);
  } catch (const FormatError& error) {
    fail(error.what());
  }
  position_ += out.size();
}

std::uint8_t Reader::u8() {
  std::byte value{};
  bytes(std::span(&value, 1));
  return std::to_integer<std::uint8_t>(value);
}

std::uint64_t Reader::u64() {
  std::uint64_t value = 0;
  words(std::span(&value, 1));
  return value;
}

double Reader::f64() { return std::bit_cast<double>(u64()); }

void Reader::words(std::span<std::uint64_t> out) {
  bytes(std::as_writable_bytes(out));
  swap_to_host(out);
}

Reader::Nested Reader::begin_nested() {
  const std::uint64_t begin = position_;
  std::array<std::byte, Header::bytes> data;
  bytes(data);
  const Header header = read_header(data, what_);
  if (header.compression != Compression::none) fail("an object inside of another is compressed");
  if (header.size > ~std::uint64_t{0} - begin) fail("an object inside of another is too large");
  return {begin + header.size};
}

void Reader::end_nested(const Nested& nested) const {
  if (nested.end != position_) fail("the size of an object inside of another does not fit its content");
}

void Reader::expect_end() {
  try {
    content_->expect_end();
  } catch (const FormatError& error) {
    fail(error.what());
  }
}

Writer::~Writer() { runtime::secure_zero(data_.data(), data_.size()); }

void Writer::expect(std::size_t bytes) { data_.reserve(data_.size() + bytes); }

void Writer::u8(std::uint8_t value) { bytes(std::as_bytes(std::span(&value, 1))); }

void Writer::u64(std::uint64_t value) { words(std::span(&value, 1)); }

void Writer::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

void Writer::bytes(std::span<const std::byte> values) { runtime::append_bytes(data_, values); }

void Writer::words(std::span<const std::uint64_t> values) {
  if constexpr (std::endian::native == std::endian::little) {
    bytes(std::as_bytes(values));
  } else {
    for (std::uint64_t value : values) {
      swap_to_host(std::span(&value, 1));
      bytes(std::as_bytes(std::span(&value, 1)));
    }
  }
}

void Writer::nested_header(std::uint64_t size) { header(Compression::none, size); }

void Writer::header(Compression compression, std::uint64_t size) {
  runtime::ByteWriter out;
  out.u16(magic);
  out.u8(Header::bytes);
  out.u8(major_version);
  out.u8(minor_version_);
  out.u8(static_cast<std::uint8_t>(compression));
  out.u16(0);
  out.u64(size);
  bytes(out.view());
}

std::vector<std::byte> Writer::finish(Compression compression) {
  std::vector<std::byte> content = std::move(data_);
  data_.clear();
  if (compression == Compression::none) {
    header(compression, content.size());
    std::copy(data_.begin(), data_.end(), content.begin());
    data_.clear();
    return content;
  }
  std::vector<std::byte> packed = compress(std::span(content).subspan(Header::bytes), compression);
  runtime::secure_zero(content.data(), content.size());
  header(compression, Header::bytes + packed.size());
  bytes(packed);
  runtime::secure_zero(packed.data(), packed.size());
  return std::move(data_);
}

}  // namespace hemera::interop::seal
