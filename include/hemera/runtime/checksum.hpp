// Checksums of pieces of messages, which find damage and authenticate nothing: Poly1305 (RFC 8439, 2.5) under
// a public key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::runtime {

using Checksum = std::array<std::uint8_t, 16>;

/// The key of all checksums, in ASCII: the numbers r and s of RFC 8439.
inline constexpr char checksum_key[] = "Hemera, checksum of pieces, v. 3";

/// The checksum of the bytes. Throws DeviceError when the system's OpenSSL refuses to compute it.
Checksum checksum(std::span<const std::byte> data);

/// Bytes of a piece, which has a checksum of its own: several threads compute those of a message. 64 KiB take
/// one of them some 6 us, where SHA-256 takes 45.
inline constexpr std::size_t checksum_piece_bytes = std::size_t{1} << 16;
/// The number of pieces of so many bytes. The last one may be shorter.
constexpr std::size_t checksum_pieces(std::size_t bytes) {
  return (bytes + checksum_piece_bytes - 1) / checksum_piece_bytes;
}
/// The checksums of the pieces of each part, those of the first part first, by up to 16 threads. A part
/// begins with a piece.
std::vector<Checksum> checksums_of_pieces(std::span<const std::span<const std::byte>> parts);

}  // namespace hemera::runtime
