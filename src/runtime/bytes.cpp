#include "hemera/runtime/bytes.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::runtime {

static_assert(std::numeric_limits<double>::is_iec559 && sizeof(double) == 8);

void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> values) {
  if (values.size() > to.capacity() - to.size()) {
    std::vector<std::byte> larger;
    larger.reserve(std::max(2 * to.capacity(), to.size() + values.size()));
    larger.assign(to.begin(), to.end());
    secure_zero(to.data(), to.size());
    to = std::move(larger);
  }
  to.insert(to.end(), values.begin(), values.end());
}

void ByteWriter::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

void ByteWriter::length(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw ParameterError("a list of " + std::to_string(count) +
                         " elements is too long for a 32-bit length; write it in parts");
  }
  u32(static_cast<std::uint32_t>(count));
}

void ByteWriter::string(std::string_view text) {
  length(text.size());
  bytes(std::as_bytes(std::span(text)));
}

void ByteWriter::u32s(std::span<const std::uint32_t> values) {
  length(values.size());
  for (const std::uint32_t value : values) u32(value);
}

void ByteWriter::u64s(std::span<const std::uint64_t> values) {
  length(values.size());
  for (const std::uint64_t value : values) u64(value);
}

void ByteReader::fail(const std::string& problem) const {
  throw FormatError(std::string(what_) + ": " + problem + " (at byte " + std::to_string(position_) + ")");
}

std::span<const std::byte> ByteReader::bytes(std::size_t count) {
  if (count > remaining()) {
    fail("ends too early: " + std::to_string(count) + " more bytes were expected and " +
         std::to_string(remaining()) + " are left");
  }
  const auto part = data_.subspan(position_, count);
  position_ += count;
  return part;
}

bool ByteReader::boolean() {
  const std::uint8_t value = u8();
  if (value > 1) fail("a yes-or-no field holds " + std::to_string(value));
  return value == 1;
}

std::size_t ByteReader::size() {
  const std::uint64_t value = u64();
  if (!std::in_range<std::size_t>(value)) {
    fail("a size of " + std::to_string(value) + ", which is beyond this machine's " +
         std::to_string(std::numeric_limits<std::size_t>::digits) + " bits");
  }
  return static_cast<std::size_t>(value);
}

double ByteReader::f64() { return std::bit_cast<double>(u64()); }

std::size_t ByteReader::count(std::size_t least_bytes_each) {
  const std::size_t elements = u32();
  if (elements > remaining() / least_bytes_each) {
    fail("a list of " + std::to_string(elements) + " elements can not fit into the " +
         std::to_string(remaining()) + " bytes that are left");
  }
  return elements;
}

std::string ByteReader::string() {
  const std::size_t size = count(1);
  const auto part = bytes(size);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

std::vector<std::uint32_t> ByteReader::u32s() {
  std::vector<std::uint32_t> values(count(4));
  for (std::uint32_t& value : values) value = u32();
  return values;
}

std::vector<std::uint64_t> ByteReader::u64s() {
  std::vector<std::uint64_t> values(count(8));
  for (std::uint64_t& value : values) value = u64();
  return values;
}

void ByteReader::expect_end() const {
  if (remaining() != 0) fail(std::to_string(remaining()) + " bytes are left over");
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace hemera::runtime
