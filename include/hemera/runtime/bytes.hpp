// Canonical bytes: fixed widths, little-endian on every machine, bounds checked on reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hemera::runtime {

/// Appends to a vector. Memory that the vector gives up as it grows is zeroed: it may have held secrets.
void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> values);

/// Appends values to a byte vector, as append_bytes does. One value has one encoding, so its bytes may be
/// hashed or compared.
class ByteWriter {
 public:
  void u8(std::uint8_t value) { integer(value); }
  void u16(std::uint16_t value) { integer(value); }
  void u32(std::uint32_t value) { integer(value); }
  void u64(std::uint64_t value) { integer(value); }
  void i64(std::int64_t value) { integer(static_cast<std::uint64_t>(value)); }
  void boolean(bool value) { u8(value ? 1 : 0); }
  /// IEEE 754 binary64, as its bits.
  void f64(double value);
  void bytes(std::span<const std::byte> values) { append_bytes(data_, values); }
  void bytes(std::span<const std::uint8_t> values) { bytes(std::as_bytes(values)); }
  /// u32 length, then the characters. Throws ParameterError from 2^32 characters on.
  void string(std::string_view text);
  /// u32 length, then the values. Throws ParameterError from 2^32 values on.
  void u32s(std::span<const std::uint32_t> values);
  void u64s(std::span<const std::uint64_t> values);

  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] std::span<const std::byte> view() const { return data_; }
  /// Hands the bytes over and starts anew.
  [[nodiscard]] std::vector<std::byte> take() { return std::move(data_); }

 private:
  template <typename T>
  void integer(T value) {
    static_assert(std::is_unsigned_v<T>);
    std::byte bytes[sizeof(T)];
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      bytes[byte] = static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xFF);
    }
    append_bytes(data_, bytes);
  }
  void length(std::size_t count);

  std::vector<std::byte> data_;
};

/// Reads the bytes of a ByteWriter. Every read throws FormatError at the end of the bytes. It allocates for a
/// length only after it has checked that as many bytes follow. Does not own the bytes.
class ByteReader {
 public:
  /// `what` names the bytes in messages ("the parameters"); it must outlive the reader.
  explicit ByteReader(std::span<const std::byte> data, std::string_view what = "the data")
      : data_(data), what_(what) {}

  [[nodiscard]] std::uint8_t u8() { return integer<std::uint8_t>(); }
  [[nodiscard]] std::uint16_t u16() { return integer<std::uint16_t>(); }
  [[nodiscard]] std::uint32_t u32() { return integer<std::uint32_t>(); }
  [[nodiscard]] std::uint64_t u64() { return integer<std::uint64_t>(); }
  /// A u64 number of elements or bytes. Throws FormatError if std::size_t can not hold it, as on a machine of
  /// 32 bits.
  [[nodiscard]] std::size_t size();
  [[nodiscard]] std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  /// Throws FormatError for bytes other than 0 and 1.
  [[nodiscard]] bool boolean();
  [[nodiscard]] double f64();
  /// A view of the next `count` bytes.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t count);
  [[nodiscard]] std::string string();
  [[nodiscard]] std::vector<std::uint32_t> u32s();
  [[nodiscard]] std::vector<std::uint64_t> u64s();
  /// A u32 number of elements, for loops that allocate. Throws FormatError if the remaining bytes can not
  /// hold that number of elements of `least_bytes_each` (>= 1) bytes.
  [[nodiscard]] std::size_t count(std::size_t least_bytes_each);

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return data_.size() - position_; }
  /// Throws FormatError unless every byte was read.
  void expect_end() const;
  /// Throws FormatError: "<what>: <problem> (at byte <position>)".
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  template <typename T>
  T integer() {
    const auto part = bytes(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      value |= std::to_integer<std::uint64_t>(part[byte]) << (8 * byte);
    }
    return static_cast<T>(value);
  }

  std::span<const std::byte> data_;
  std::size_t position_ = 0;
  std::string_view what_;
};

/// Lower-case hexadecimal digits, two a byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace hemera::runtime
