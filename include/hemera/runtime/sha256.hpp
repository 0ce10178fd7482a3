// SHA-256 (FIPS 180-4), for the fingerprints of parameters, and HMAC with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::runtime {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// The SHA-256 digest of the bytes. Throws DeviceError when the system's OpenSSL refuses to compute it.
Sha256Digest sha256(std::span<const std::byte> data);

/// Bytes of a piece, which has a digest of its own: the digest of the digests of pieces is as hard to forge
/// as that of all bytes, and several threads compute it. 64 KiB take one of them some 40 us.
inline constexpr std::size_t sha256_piece_bytes = std::size_t{1} << 16;
/// The number of pieces of so many bytes. The last one may be shorter.
constexpr std::size_t sha256_pieces(std::size_t bytes) {
  return (bytes + sha256_piece_bytes - 1) / sha256_piece_bytes;
}
/// The digests of the pieces of each part, those of the first part first, by up to 16 threads. A part begins
/// with a piece.
std::vector<Sha256Digest> sha256_of_pieces(std::span<const std::span<const std::byte>> parts);

/// HMAC-SHA-256 (RFC 2104) of the bytes under the key, to `out`: no copy of it stays. Throws DeviceError when
/// the system's OpenSSL refuses to compute it.
void hmac_sha256(std::span<std::uint8_t, 32> out, std::span<const std::byte> key,
                 std::span<const std::byte> data);

}  // namespace hemera::runtime
