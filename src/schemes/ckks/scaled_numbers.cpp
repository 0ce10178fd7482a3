#include "schemes/ckks/scaled_numbers.hpp"

#include <cmath>

namespace hemera::ckks {

using arith::BigInteger;

BigInteger scaled_integer(double value, double scale) {
  int value_exponent = 0;
  int scale_exponent = 0;
  const auto mantissa = [](double x, int& exponent) {
    return static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  };
  BigInteger product = mantissa(value, value_exponent);
  product *= mantissa(scale, scale_exponent);
  const int shift = value_exponent + scale_exponent - 106;
  if (shift >= 0) return product << static_cast<unsigned>(shift);
  const bool negative = product < 0;
  if (negative) product = -product;
  const auto right = static_cast<unsigned>(-shift);
  BigInteger quotient = product >> right;
  const BigInteger remainder = product - (quotient << right);
  const BigInteger half = BigInteger(1) << (right - 1);
  if (remainder > half || (remainder == half && (quotient & 1) != 0)) ++quotient;
  return negative ? BigInteger(-quotient) : quotient;
}

std::vector<std::uint64_t> residues(const BigInteger& value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result;
  for (const std::uint64_t modulus : base.values()) result.push_back(arith::modulo(value, modulus));
  return result;
}

std::vector<std::uint64_t> scaled_residues(double value, double scale, const poly::RnsBase& base) {
  return residues(scaled_integer(value, scale), base);
}

}  // namespace hemera::ckks
