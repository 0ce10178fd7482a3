// BLAKE2b (RFC 7693) and the extendable output BLAKE2Xb made of it (J.-P. Aumasson, S. Neves, Z.
// Wilcox-O'Hearn, C. Winnerlein, "BLAKE2X", 2016), which SEAL hashes parameters and expands seeds with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::interop::seal {

inline constexpr std::size_t blake2b_bytes = 64;

/// The digest of out.size() bytes, 1 to 64, of the message, without a key.
void blake2b(std::span<std::byte> out, std::span<const std::byte> message);

/// out.size() bytes, 1 to 2^32 - 2, from the message and a key of up to 64 bytes.
void blake2xb(std::span<std::byte> out, std::span<const std::byte> message, std::span<const std::byte> key);

}  // namespace hemera::interop::seal
