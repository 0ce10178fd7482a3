// Exact integers for pre-computation: never on a hot path, never with secret values.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <span>

namespace hemera::arith {

using BigInteger = boost::multiprecision::cpp_int;

/// Product of words.
inline BigInteger product(std::span<const std::uint64_t> factors) {
  BigInteger result = 1;
  for (const std::uint64_t factor : factors) result *= factor;
  return result;
}

/// a mod m as a word; a may be negative, the result is in [0, m).
inline std::uint64_t modulo(const BigInteger& a, std::uint64_t m) {
  BigInteger remainder = a % m;
  if (remainder < 0) remainder += m;
  return static_cast<std::uint64_t>(remainder);
}

/// log2(a) for a > 0, to double precision.
double log2(const BigInteger& a);

}  // namespace hemera::arith
