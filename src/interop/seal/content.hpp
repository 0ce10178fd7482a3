// The content of an object, unpacked as it is read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "interop/seal/container.hpp"

namespace hemera::interop::seal {

class Reader::Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;
  /// The next bytes. FormatError where there are fewer, or the compressed ones are malformed.
  virtual void read(std::span<std::byte> out) = 0;
  /// Throws FormatError unless everything was read.
  virtual void expect_end() = 0;
};

/// ParameterError for a number that is no compression.
std::unique_ptr<Reader::Content> make_content(std::span<const std::byte> stored, Compression compression);

/// The bytes as a stream of this compression, which is not `none`.
std::vector<std::byte> compress(std::span<const std::byte> content, Compression compression);

}  // namespace hemera::interop::seal
