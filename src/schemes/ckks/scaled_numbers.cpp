#include "schemes/ckks/scaled_numbers.hpp"

#include <cmath>

namespace hemera::ckks {

using arith::BigInteger;

namespace {

// mantissa 2^exponent.
struct Binary {
  BigInteger mantissa;
  int exponent;
};

Binary binary(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return {static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53};
}

Binary binary(const arith::TwoDoubles& x) {
  Binary value = binary(x.value);
  if (x.rest == 0) return value;
  Binary rest = binary(x.rest);
  Binary &high = value.exponent >= rest.exponent ? value : rest, &low = &high == &value ? rest : value;
  const auto shift = static_cast<unsigned>(high.exponent - low.exponent);
  return {(high.mantissa << shift) + low.mantissa, low.exponent};
}

}  // namespace

BigInteger scaled_integer(const arith::TwoDoubles& value, const arith::TwoDoubles& scale) {
  const Binary a = binary(value), b = binary(scale);
  BigInteger product = a.mantissa * b.mantissa;
  const int shift = a.exponent + b.exponent;
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

std::vector<std::uint64_t> scaled_residues(double value, const arith::TwoDoubles& scale,
                                           const poly::RnsBase& base) {
  return residues(scaled_integer({value}, scale), base);
}

}  // namespace hemera::ckks
