#include "rlwe/monomial.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "hemera/poly/backend.hpp"

namespace hemera::rlwe {

poly::Poly monomial(const Context& context, const poly::RnsBase& base, std::size_t exponent) {
  using poly::Form;
  poly::Poly result = context.make_poly(1, 1, base, Form::evaluation);
  const std::size_t degree = context.degree();
  context.backend().upload_rows(context.queue(), result.view(), Form::coefficient,
                                [&](std::size_t first, std::span<std::uint64_t> rows) {
                                  std::fill(rows.begin(), rows.end(), 0);
                                  for (std::size_t row = 0; row < rows.size() / degree; ++row) {
                                    rows[row * degree + exponent % degree] =
                                        exponent < degree ? 1 : base.modulus(first + row).value() - 1;
                                  }
                                });
  context.backend().forward_transform(context.queue(), result.view(), result.view(), base);
  return result;
}

}  // namespace hemera::rlwe
