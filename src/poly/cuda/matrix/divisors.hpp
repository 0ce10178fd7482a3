// Numbers of a byte that products of matrices are taken modulo, so that their remainders determine them.
#pragma once

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda::matrix {

inline constexpr unsigned most_divisors = 14;

/// The largest numbers up to 256 of which no two have a common factor, i < most_divisors.
HEMERA_HOST_DEVICE constexpr unsigned divisor(unsigned i) {
  constexpr std::uint16_t all[most_divisors] = {256, 255, 253, 251, 247, 241, 239,
                                                233, 229, 227, 223, 217, 211, 199};
  return all[i];
}

/// The product of the first `count` divisors.
constexpr arith::uint128 product_of_divisors(unsigned count) {
  arith::uint128 product = 1;
  for (unsigned i = 0; i < count; ++i) product *= divisor(i);
  return product;
}

}  // namespace hemera::poly::cuda::matrix
