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

/// The sum that coefficients in one range add to an integer beyond that range's bits: in two's complement.
struct Carry {
  std::uint64_t words[3] = {0, 0, 0};

  static Carry of(std::int64_t value) {
    const auto low = static_cast<std::uint64_t>(value), sign = value < 0 ? ~std::uint64_t{0} : 0;
    return {{low, sign, sign}};
  }
};

/// Adds up coefficients x_j 2^(j b), j < length, into the words of `out`, and returns what is left over. The
/// coefficient is given by mixed-radix digits, x = rows[0][j] + p_0 (rows[1][j] + p_1 (...)) for n primes. If
/// `centered`, it stands for x less p_0 p_1 ... when its highest digit is in the upper half. Absolute values
/// are below 2^164.
Carry add_coefficients(std::span<std::uint64_t> out, const std::uint64_t* const* rows,
                       const arith::Modulus* primes, std::size_t n, bool centered, std::size_t length, int b);

/// out += carry, the lowest word first, and returns what leaves the top of `out`, if it has 3 words or more.
Carry add_carry(std::span<std::uint64_t> out, const Carry& carry);

/// Subtracts from `out` of M / 64 words below 2^M and a word more, which is overwritten: out = out - top
/// modulo 2^M + 1, in [0, 2^M]; |top| < 2^M.
void subtract_wrapped(std::span<std::uint64_t> out, const Carry& top);

}  // namespace hemera::multiply
