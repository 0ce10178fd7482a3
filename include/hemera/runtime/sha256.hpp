// SHA-256 (FIPS 180-4), for the fingerprints of parameters, and HMAC with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::runtime {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// The SHA-256 digest of the bytes. Throws DeviceError when the system's OpenSSL refuses to compute it.
Sha256Digest sha256(std::span<const std::byte> data);

/// HMAC-SHA-256 (RFC 2104) of the bytes under the key, to `out`: no copy of it stays. Throws DeviceError when
/// the system's OpenSSL refuses to compute it.
void hmac_sha256(std::span<std::uint8_t, 32> out, std::span<const std::byte> key,
                 std::span<const std::byte> data);

}  // namespace hemera::runtime
