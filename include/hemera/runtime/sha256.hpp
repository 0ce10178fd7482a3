// SHA-256 (FIPS 180-4), for the fingerprints of parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::runtime {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// The SHA-256 digest of the bytes. Throws DeviceError when the system's OpenSSL refuses to compute it.
Sha256Digest sha256(std::span<const std::byte> data);

}  // namespace hemera::runtime
