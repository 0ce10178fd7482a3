#include "circuits/bootstrap/refinement.hpp"

#include <cmath>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"
#include "rlwe/descent.hpp"

namespace hemera::circuits {

using arith::TwoDoubles;
using rlwe::Ciphertext;

Refinement::Refinement(std::size_t low, std::size_t level, std::size_t high, int factor_log2)
    : low_(low), level_(level), high_(high), factor_(std::exp2(factor_log2)) {}

Ciphertext Refinement::difference(const Ciphertext& x, const Ciphertext& y) const {
  const rlwe::Context& context = *x.context;
  const double scale = context.scales().level_scale(low_);
  const TwoDoubles magnified{scale * factor_};
  Ciphertext result{x.context,
                    x.meta,
                    rlwe::descended_by_ratio(context, x.poly, low_, low_, magnified / x.meta.scale.exact()),
                    {}};
  result.meta.scale = scale;
  const poly::Poly low =
      rlwe::descended_by_ratio(context, y.poly, level_, low_, magnified / y.meta.scale.exact());
  const poly::PolyView view = result.poly.view();
  context.backend().subtract(context.queue(), view, view, low.view(), context.base(low_));
  return result;
}

Ciphertext Refinement::sum(const Ciphertext& y, const Ciphertext& z) const {
  const rlwe::Context& context = *y.context;
  const double scale = context.scales().level_scale(level_ - 1);
  // Before the rescale that ends the sum.
  const TwoDoubles wanted = TwoDoubles{scale} * context.scales().divisor(level_);
  poly::Poly both = rlwe::descended_by_ratio(context, y.poly, level_, level_, wanted / y.meta.scale.exact());
  const poly::Poly rest = rlwe::descended_by_ratio(context, z.poly, high_, level_,
                                                   wanted / TwoDoubles{factor_} / z.meta.scale.exact());
  const poly::PolyView view = both.view();
  context.backend().add(context.queue(), view, view, rest.view(), context.base(level_));

  rlwe::Metadata meta = y.meta;
  meta.level = level_ - 1;
  meta.scale = scale;
  Ciphertext result = rlwe::make_ciphertext(y.context, std::move(meta), y.size());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), result.poly.view(), std::as_const(both).view(),
                                     context.rescale(level_), both.form(), workspace);
  return result;
}

}  // namespace hemera::circuits
