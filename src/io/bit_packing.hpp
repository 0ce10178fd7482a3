// Residues of one modulus as a dense string of bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::io {

/// Bits that a residue of modulus q takes: those of q - 1.
constexpr unsigned residue_bits(std::uint64_t modulus) {
  return static_cast<unsigned>(std::bit_width(modulus - 1));
}

/// Value i takes bits [i width, (i + 1) width) of `out`, where bit b is bit b mod 8 of byte b / 8. The number
/// of values is a multiple of 64, every value is below 2^width, 1 <= width <= 64; `out` has width / 8 bytes a
/// value.
void pack_bits(std::span<const std::uint64_t> values, unsigned width, std::span<std::byte> out);

/// The inverse. Returns whether every value is below `limit`.
bool unpack_bits(std::span<const std::byte> in, unsigned width, std::uint64_t limit,
                 std::span<std::uint64_t> out);

}  // namespace hemera::io
