#include "hemera/arith/big_integer.hpp"

#include <cmath>

namespace hemera::arith {

double log2(const BigInteger& a) {
  const auto bits = static_cast<long>(boost::multiprecision::msb(a));
  const long shift = bits > 62 ? bits - 62 : 0;
  const auto leading = static_cast<std::uint64_t>(a >> static_cast<unsigned long>(shift));
  return std::log2(static_cast<double>(leading)) + static_cast<double>(shift);
}

}  // namespace hemera::arith
