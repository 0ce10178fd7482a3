// Correction factors of BGV: the decrypted residue is the factor times the value, modulo t.
#pragma once

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::bgv {

/// Two integers, invertible modulo t and in (-t/2, t/2], with a * first = b * second modulo t.
struct Multipliers {
  std::int64_t a = 1;
  std::int64_t b = 1;
};

/// Multipliers that bring two correction factors together at the least noise |a| noise_a + |b| noise_b: a
/// pair from the extended Euclidean algorithm on t and first / second, whose remainders and coefficients are
/// the short vectors of the lattice of all such pairs. Noises as log2; where one is unknown, the pair has the
/// least |a| + |b|, and is the one that SEAL takes.
Multipliers balance(const arith::Modulus& t, std::uint64_t first, std::uint64_t second, double noise_a,
                    double noise_b);

}  // namespace hemera::bgv
