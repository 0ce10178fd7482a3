#include <string>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {
namespace {

using arith::Modulus;
using arith::ShoupFactor;

/// For each factor `multiple` times the product of all others, and then times that of all, modulo q.
std::vector<std::uint64_t> punctured_products(const RnsBase& factors, std::uint64_t multiple,
                                              const Modulus& q) {
  std::vector<std::uint64_t> products(1, multiple);
  for (const std::uint64_t each : factors.values())
    products.push_back(q.multiply(products.back(), q.reduce(each)));
  std::uint64_t after = 1;
  for (std::size_t i = factors.size(); i-- > 0;) {
    products[i] = q.multiply(products[i], after);
    after = q.multiply(after, q.reduce(factors.modulus(i).value()));
  }
  return products;
}

}  // namespace

BaseConversion::BaseConversion(const RnsBase& source, const RnsBase& target, Kind kind,
                               const RnsBase& multiple)
    : source_(source), target_(target), kind_(kind) {
  const std::size_t count = source.size();
  if (!multiple.empty() && (count < 2 || kind == Kind::exact)) {
    throw ParameterError("base conversion: a multiple of others is made from two moduli or more, inexactly");
  }
  std::vector<std::uint64_t> multiples = source.residues_of_product(multiple);
  for (std::size_t i = 0; i < count; ++i) {
    const Modulus& a = source.modulus(i);
    if (count > 1 && a.value() % 2 == 0) {
      throw ParameterError("base conversion: the modulus " + std::to_string(a.value()) +
                           " is even; an even modulus converts only as a base of its own");
    }
    const std::uint64_t inverse = arith::inverse(punctured_products(source, multiples[i], a)[i], a.value());
    if (inverse == 0 && count > 1) {
      throw ParameterError("base conversion: the modulus " + std::to_string(a.value()) +
                           " has a factor in common with another of the source base");
    }
    inverse_punctured_.emplace_back(count == 1 ? 1 : inverse, a);
    // 2^(63 + bits) / a fits a word unless a is a power of two, which is a base of its own and needs no
    // quotient.
    quotient_factors_.push_back(
        a.value() % 2 == 0
            ? 0
            : static_cast<std::uint64_t>((static_cast<arith::uint128>(1) << (63 + a.bits())) / a.value()));
  }
  multiples = target.residues_of_product(multiple);
  for (std::size_t j = 0; j < target.size(); ++j) {
    const Modulus& b = target.modulus(j);
    std::vector<std::uint64_t> row = punctured_products(source, multiples[j], b);
    product_.push_back(row.back());
    row.pop_back();
    std::uint64_t shift = 0;
    for (std::size_t i = 0; i < count; ++i) {
      shift = b.add(shift, b.multiply(row[i], b.reduce((source.modulus(i).value() - 1) / 2)));
    }
    center_shift_.push_back(shift);
    punctured_.push_back(std::move(row));
  }
}

}  // namespace hemera::poly
