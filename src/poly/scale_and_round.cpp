#include <string>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

using arith::BigInteger;
using arith::Modulus;

ScaleAndRound::ScaleAndRound(const RnsBase& source, const RnsBase& divided, std::uint64_t factor,
                             const RnsBase& target)
    : source_(source),
      divided_(divided),
      target_(target),
      factor_(factor),
      divided_positions_(source.positions(divided)) {
  const RnsBase kept = source.without(divided);
  if (divided.empty()) {
    throw ParameterError("scale and round: the divided base is empty; there is nothing to divide by");
  }
  if (factor == 0) throw ParameterError("scale and round: the factor is 0");
  const BigInteger whole = arith::product(source.values());
  const BigInteger kept_product = arith::product(kept.values());  // B
  for (std::size_t i = 0; i < source.size(); ++i) {
    const Modulus& a = source.modulus(i);
    const std::uint64_t inverse = arith::inverse(arith::modulo(whole / a.value(), a.value()), a.value());
    if (inverse == 0) {
      throw ParameterError("scale and round: the modulus " + std::to_string(a.value()) +
                           " has a factor in common with another of the source base");
    }
    inverse_punctured_.emplace_back(inverse, a);
  }
  std::vector<BigInteger> integers(divided.size());  // w_i before reduction
  for (std::size_t i = 0; i < divided.size(); ++i) {
    const std::uint64_t d = divided.modulus(i).value();
    const BigInteger numerator = kept_product * factor;
    integers[i] = numerator / d;
    const BigInteger fraction = ((numerator % d) << 128) / d;  // F_i
    fraction_high_.push_back(static_cast<std::uint64_t>(fraction >> 64));
    fraction_low_.push_back(static_cast<std::uint64_t>(fraction & ~std::uint64_t{0}));
  }
  for (std::size_t j = 0; j < target.size(); ++j) {
    const Modulus& b = target.modulus(j);
    const std::uint32_t index = target.index(j);
    std::int32_t position = -1;
    std::uint64_t own = 0;
    if (source.contains(index)) {
      if (divided.contains(index)) {
        throw ParameterError("scale and round: the target modulus " + std::to_string(b.value()) +
                             " is one of those divided by");
      }
      position = static_cast<std::int32_t>(source.position(index));
      own = b.multiply(arith::modulo(kept_product / b.value(), b.value()), b.reduce(factor));
    } else if (!kept.empty() || factor % b.value() != 0) {
      // Modulo such a b the multiples of t B that are left out above do not vanish.
      throw ParameterError("scale and round: the target modulus " + std::to_string(b.value()) +
                           " is outside the source; that needs the whole source divided and a factor (" +
                           std::to_string(factor) + ") that is a multiple of it");
    }
    target_positions_.push_back(position);
    kept_factor_.push_back(own);
    std::vector<std::uint64_t> row(divided.size());
    for (std::size_t i = 0; i < divided.size(); ++i) row[i] = arith::modulo(integers[i], b.value());
    whole_.push_back(std::move(row));
  }
}

}  // namespace hemera::poly
