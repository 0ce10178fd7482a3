#include <algorithm>
#include <cmath>
#include <string>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

using arith::BigInteger;
using arith::Modulus;
using arith::ShoupFactor;

namespace {

std::uint64_t inverse_or_throw(const BigInteger& value, const Modulus& modulus, const char* of) {
  const std::uint64_t inverse = arith::inverse(arith::modulo(value, modulus.value()), modulus.value());
  if (inverse == 0) {
    throw ParameterError("division: the product of the dropped moduli has no inverse modulo the " +
                         std::string(of) + " modulus " + std::to_string(modulus.value()) +
                         "; they must be coprime");
  }
  return inverse;
}

}  // namespace

Division::Division(const RnsBase& source, const RnsBase& target, const RnsBase& plaintext, double factor)
    : source_(source),
      target_(target),
      plaintext_(plaintext),
      dropped_(source.without(target)),
      dropped_positions_(source.positions(dropped_)),
      conversion_(dropped_, target.united(plaintext), BaseConversion::Kind::exact),
      plaintext_conversion_(plaintext, plaintext.empty() ? RnsBase() : target, BaseConversion::Kind::exact),
      factor_(factor) {
  if (dropped_.empty()) {
    throw ParameterError("division: the target base of " + std::to_string(target.size()) +
                         " moduli has all moduli of the source; there is nothing to divide by");
  }
  if (plaintext.size() > 1 || (!plaintext.empty() && target.contains(plaintext.index(0)))) {
    throw ParameterError("division: the plaintext base must be empty or one modulus outside the target base");
  }
  if (!(factor >= 1) || std::isinf(factor) || factor != std::trunc(factor)) {
    throw ParameterError("division: the factor is " + std::to_string(factor) +
                         "; it must be a positive whole number");
  }
  const RnsBase added = target.without(source);
  multiplies_ = !added.empty() || factor != 1;
  const BigInteger dropped_product = arith::product(dropped_.values());             // D
  const BigInteger multiple = arith::product(added.values()) * BigInteger(factor);  // E
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    const Modulus& d = dropped_.modulus(i);
    multiple_dropped_.emplace_back(arith::modulo(multiple, d.value()), d);
  }
  for (std::size_t j = 0; j < target.size(); ++j) {
    const Modulus& b = target.modulus(j);
    const std::uint64_t inverse = inverse_or_throw(dropped_product, b, "target");
    inverse_dropped_.emplace_back(inverse, b);
    scaled_inverse_.emplace_back(b.multiply(inverse, arith::modulo(multiple, b.value())), b);
    dropped_product_.emplace_back(arith::modulo(dropped_product, b.value()), b);
    kept_positions_.push_back(source.contains(target.index(j))
                                  ? static_cast<std::int32_t>(source.position(target.index(j)))
                                  : std::int32_t{-1});
    if (kept_positions_.back() >= 0 && scaled_inverse_.back().operand == 0) {
      throw ParameterError("division: the factor " + std::to_string(factor) + " is 0 modulo " +
                           std::to_string(b.value()) + "; divide a multiple that was made before");
    }
  }
  if (!plaintext.empty()) {
    const Modulus& t = plaintext.modulus(0);
    negative_inverse_plain_ = t.negate(inverse_or_throw(dropped_product, t, "plaintext"));
  }
}

}  // namespace hemera::poly
