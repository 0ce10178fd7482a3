#include "circuits/bootstrap/refinement.hpp"

#include <cmath>
#include <utility>

#include "hemera/rlwe/context.hpp"

namespace hemera::circuits {

using rlwe::Ciphertext;

Refinement::Refinement(const rlwe::Context& context, std::size_t low, std::size_t level, std::size_t high,
                       int factor_log2)
    : low_(low),
      level_(level),
      factor_(std::exp2(factor_log2)),
      at_low_(context, low, low),
      to_low_(context, level, low),
      at_level_(context, level, level),
      to_level_(context, high, level) {}

Ciphertext Refinement::difference(const Ciphertext& x, const Ciphertext& y) const {
  const rlwe::Context& context = *x.context;
  const double scale = context.scales().level_scale(low_);
  Ciphertext result{x.context, x.meta, at_low_(context, x.poly, scale * factor_ / x.meta.scale), {}};
  result.meta.scale = scale;
  const poly::Poly low = to_low_(context, y.poly, scale * factor_ / y.meta.scale);
  const poly::PolyView view = result.poly.view();
  context.backend().subtract(context.queue(), view, view, low.view(), context.base(low_));
  return result;
}

Ciphertext Refinement::sum(const Ciphertext& y, const Ciphertext& z) const {
  const rlwe::Context& context = *y.context;
  const double scale = context.scales().level_scale(level_ - 1);
  // Before the rescale that ends the sum.
  const double wanted = scale * context.scales().policy().scales[level_].divisor;
  poly::Poly both = at_level_(context, y.poly, wanted / y.meta.scale);
  const poly::Poly rest = to_level_(context, z.poly, wanted / factor_ / z.meta.scale);
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
