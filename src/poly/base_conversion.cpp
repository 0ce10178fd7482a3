#include <string>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

using arith::BigInteger;
using arith::Modulus;
using arith::ShoupFactor;

BaseConversion::BaseConversion(const RnsBase& source, const RnsBase& target, Kind kind,
                               const RnsBase& multiple)
    : source_(source), target_(target), kind_(kind) {
  const std::size_t count = source.size();
  const BigInteger whole = arith::product(source.values()) * arith::product(multiple.values());
  if (!multiple.empty() && (count < 2 || kind == Kind::exact)) {
    throw ParameterError("base conversion: a multiple of others is made from two moduli or more, inexactly");
  }
  std::vector<BigInteger> parts(count);  // A_i, times F
  BigInteger shift = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Modulus& a = source.modulus(i);
    if (count > 1 && a.value() % 2 == 0) {
      throw ParameterError("base conversion: the modulus " + std::to_string(a.value()) +
                           " is even; an even modulus converts only as a base of its own");
    }
    parts[i] = whole / a.value();
    const std::uint64_t inverse = arith::inverse(arith::modulo(parts[i], a.value()), a.value());
    if (inverse == 0 && count > 1) {
      throw ParameterError("base conversion: the modulus " + std::to_string(a.value()) +
                           " has a factor in common with another of the source base");
    }
    inverse_punctured_.emplace_back(count == 1 ? 1 : inverse, a);
    shift += parts[i] * ((a.value() - 1) / 2);
    // 2^(63 + bits) / a fits a word unless a is a power of two, which is a base of its own and needs no
    // quotient.
    quotient_factors_.push_back(
        a.value() % 2 == 0 ? 0 : static_cast<std::uint64_t>((BigInteger(1) << (63 + a.bits())) / a.value()));
  }
  for (std::size_t j = 0; j < target.size(); ++j) {
    const std::uint64_t b = target.modulus(j).value();
    std::vector<std::uint64_t> row(count);
    for (std::size_t i = 0; i < count; ++i) row[i] = arith::modulo(parts[i], b);
    punctured_.push_back(std::move(row));
    product_.push_back(arith::modulo(whole, b));
    center_shift_.push_back(arith::modulo(shift, b));
  }
}

}  // namespace hemera::poly
