// Zstandard frames in sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::io {

/// `data` as zstd frames of at least data.size() / largest_ratio bytes: where zstd does better, a skippable
/// frame (RFC 8878, section 3.1.2) fills up, so that readers may refuse anything that expands more.
std::vector<std::byte> compress(std::span<const std::byte> data, int level, std::uint64_t largest_ratio);

/// Exactly `raw_bytes` bytes; throws FormatError when the frames are malformed or hold another number.
/// Allocates `raw_bytes` and zstd's fixed state only.
std::vector<std::byte> decompress(std::span<const std::byte> data, std::size_t raw_bytes);

}  // namespace hemera::io
