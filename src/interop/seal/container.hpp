// The container of every SEAL object: a header of 16 bytes, then the fields, perhaps compressed
// (docs/clients-seal.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hemera/interop/seal.hpp"

namespace hemera::interop::seal {

struct Header {
  static constexpr std::size_t bytes = 16;

  std::uint8_t minor_version = 0;
  Compression compression = Compression::none;
  /// Bytes of the whole object in the file, header included.
  std::uint64_t size = 0;
};

/// Whether the bytes begin like a SEAL object.
bool looks_like_seal(std::span<const std::byte> file);

/// Reads one object, part after part: compressed content is unpacked as it is asked for, never ahead, in
/// memory that does not depend on the file. Every read throws FormatError where the content is malformed or
/// ends. Does not own the bytes.
class Reader {
 public:
  /// The header of a file that holds this one object: FormatError unless its size is the file's. `what` names
  /// the object in messages.
  Reader(std::span<const std::byte> file, std::string what);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] const Header& header() const { return header_; }

  std::uint8_t u8();
  std::uint64_t u64();
  double f64();
  void bytes(std::span<std::byte> out);
  void words(std::span<std::uint64_t> out);

  /// The header of an object inside of this one; `end_nested` then takes what was returned, and throws
  /// FormatError unless the object's size is what was read since.
  struct Nested {
    std::uint64_t end = 0;
  };
  Nested begin_nested();
  void end_nested(const Nested& nested) const;

  /// Throws FormatError unless everything was read.
  void expect_end();
  /// Throws FormatError: "<what>: <problem>".
  [[noreturn]] void fail(const std::string& problem) const;

  /// The source of content.
  class Content;

 private:
  std::string what_;
  Header header_;
  std::unique_ptr<Content> content_;
  std::uint64_t position_ = Header::bytes;  // in the object without compression
};

/// Collects an object's fields; zeroes them in the end, as they may be a secret key's.
class Writer {
 public:
  explicit Writer(std::uint8_t minor_version) : minor_version_(minor_version) {}
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Room for this many bytes, header excluded.
  void expect(std::size_t bytes);
  void u8(std::uint8_t value);
  void u64(std::uint64_t value);
  void f64(double value);
  void bytes(std::span<const std::byte> values);
  void words(std::span<const std::uint64_t> values);
  /// The header of an uncompressed object inside of this one that has `size` bytes, header included.
  void nested_header(std::uint64_t size);

  /// The file.
  [[nodiscard]] std::vector<std::byte> finish(Compression compression);

 private:
  void header(Compression compression, std::uint64_t size);

  std::uint8_t minor_version_;
  std::vector<std::byte> data_ = std::vector<std::byte>(Header::bytes);
};

}  // namespace hemera::interop::seal
