#include "rlwe/monomial.hpp"

#include <algorithm>
#include <cstdint>

#include "hemera/poly/backend.hpp"

namespace hemera::rlwe {

poly::Poly monomial(const Context& context, const poly::RnsBase& base, std::size_t exponent) {
  return monomials(context, base, std::span(&exponent, 1));
}

poly::Poly monomials(const Context& context, const poly::RnsBase& base,
                     std::span<const std::size_t> exponents) {
  using poly::Form;
  poly::Poly result = context.make_poly(exponents.size(), 1, base, Form::evaluation);
  const std::size_t degree = context.degree(), limbs = base.size();
  context.backend().upload_rows(context.queue(), result.view(), Form::coefficient,
                                [&](std::size_t first, std::span<std::uint64_t> rows) {
                                  std::fill(rows.begin(), rows.end(), 0);
                                  for (std::size_t row = 0; row < rows.size() / degree; ++row) {
                                    const std::size_t exponent = exponents[(first + row) / limbs];
                                    const std::uint64_t q = base.modulus((first + row) % limbs).value();
                                    rows[row * degree + exponent % degree] = exponent < degree ? 1 : q - 1;
                                  }
                                });
  context.backend().forward_transform(context.queue(), result.view(), result.view(), base);
  return result;
}

}  // namespace hemera::rlwe
