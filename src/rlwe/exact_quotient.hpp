// Quotients of moduli, beyond what doubles hold of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hemera/arith/two_doubles.hpp"

namespace hemera::rlwe {

/// The product of the primes that `others` lack.
inline arith::TwoDoubles product_without(const std::vector<std::uint64_t>& primes,
                                         const std::vector<std::uint64_t>& others) {
  arith::TwoDoubles product{1};
  for (const std::uint64_t prime : primes) {
    if (std::ranges::find(others, prime) == others.end()) product = product * arith::exactly(prime);
  }
  return product;
}

/// The product of the primes `above` over that of the primes `below`.
inline arith::TwoDoubles exact_quotient(const std::vector<std::uint64_t>& above,
                                        const std::vector<std::uint64_t>& below) {
  return product_without(above, below) / product_without(below, above);
}

}  // namespace hemera::rlwe
