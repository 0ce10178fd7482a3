// Integers as rows of digits, and residues of digits back to an integer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiply {

/// digits[j] = bits [j b, (j + 1) b) of the integer, for first <= j < first + count; b <= 62, zeros above its
/// words.
void split_digits(std::uint64_t* digits, std::span<const std::uint64_t> integer, int b, std::size_t first,
                  std::size_t count);

/// What coefficients in one range add to an integer beyond that range's bits.
struct Carry {
  std::uint64_t words[3] = {0, 0, 0};
};

/// Adds up coefficients x_j 2^(j b): the bits from 64 * first_word on are those of out[first_word ...). The
/// coefficient is given by mixed-radix digits, rows[0][j] + p_0 (rows[1][j] + p_1 (...)), below 2^160;
/// coefficients at or above `length` are zero. Writes `words` words, and returns what is left over;
/// first_coefficient b = 64 first_word.
Carry add_coefficients(std::span<std::uint64_t> out, const std::uint64_t* const* rows,
                       const arith::Modulus* primes, std::size_t n, std::size_t length, int b);

/// out += carry, the lowest word first; what leaves the top of `out` is lost.
void add_carry(std::span<std::uint64_t> out, const Carry& carry);

}  // namespace hemera::multiply
