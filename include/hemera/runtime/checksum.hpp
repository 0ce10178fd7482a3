// XXH3-64 of xxHash, the checksum of files' headers and sections, and of pieces of messages: it finds damage
// at the speed of memory, and authenticates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::runtime {

/// XXH3-64 with a seed, of two byte strings one after the other.
std::uint64_t checksum(std::uint64_t seed, std::span<const std::byte> first,
                       std::span<const std::byte> second = {});

/// Bytes of a piece, which has a checksum of its own: several threads compute those of a message.
inline constexpr std::size_t checksum_piece_bytes = std::size_t{1} << 16;
/// The number of pieces of this many bytes. The last one may be shorter.
constexpr std::size_t checksum_pieces(std::size_t bytes) {
  return (bytes + checksum_piece_bytes - 1) / checksum_piece_bytes;
}
/// The checksums, with seed 0, of the pieces of each part, those of the first part first, by up to 16
/// threads. A part begins with a piece.
std::vector<std::uint64_t> checksums_of_pieces(std::span<const std::span<const std::byte>> parts);

}  // namespace hemera::runtime
