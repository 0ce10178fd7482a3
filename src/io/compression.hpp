// Zstandard frames in sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hemera::io {

/// `data` as zstd frames of at least data.size() / largest_ratio bytes: where zstd does better, a skippable
/// frame (RFC 8878, section 3.1.2) fills up, so that readers may refuse anything that expands more.
std::vector<std::byte> compress(std::span<const std::byte> data, int level, std::uint64_t largest_ratio);

/// Exactly `raw_bytes` bytes; throws FormatError when the frames are malformed or hold another number.
/// Allocates `raw_bytes` and zstd's fixed state only.
std::vector<std::byte> decompress(std::span<const std::byte> data, std::size_t raw_bytes);

/// The content of frames part after part, in the memory of zstd's window (up to 32 MiB).
class Decompressor {
 public:
  explicit Decompressor(std::span<const std::byte> data);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// The next out.size() bytes. Throws FormatError when the frames are malformed, or end before.
  void read(std::span<std::byte> out);
  /// Throws FormatError unless all content was read.
  void expect_end();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace hemera::io
