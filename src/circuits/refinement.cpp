#include "circuits/refinement.hpp"

#include <cmath>
#include <utility>

#include "hemera/rlwe/context.hpp"
#include "rlwe/restriction.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;

// Bits that a division drops beyond those of primes that it adds: a factor before it then gives any scale
// with the precision of a double.
constexpr double spare_bits = 64;

double product(const poly::RnsBase& base) {
  double result = 1;
  for (const std::uint64_t prime : base.values()) result *= static_cast<double>(prime);
  return result;
}

// From the limbs that both bases have, and as many more of the higher one as needed.
std::shared_ptr<const poly::Division> division(const poly::RnsBase& high, const poly::RnsBase& low) {
  poly::RnsBase source = high.intersected(low);
  const poly::RnsBase more = high.without(low);
  const double wanted = low.without(high).log2() + spare_bits;
  double dropped = 0;
  for (std::size_t i = 0; i < more.size() && dropped < wanted; ++i) {
    source = source.united(poly::RnsBase(high.ring(), {more.index(i)}));
    dropped += std::log2(static_cast<double>(more.modulus(i).value()));
  }
  return std::make_shared<const poly::Division>(source, low);
}

// x times a factor.
poly::Poly multiple(const rlwe::Context& context, const poly::Poly& x, double factor) {
  const poly::PolyShape& shape = x.shape();
  poly::Poly out = context.make_poly(shape.batch, shape.components, x.base(), x.form());
  context.backend().multiply_scalar(context.queue(), out.view(), x.view(),
                                    ckks::scaled_residues(1, factor, x.base()), x.base());
  return out;
}

// x over the target base, its scale times `factor`.
poly::Poly lowered(const rlwe::Context& context, const poly::Poly& x, const poly::Division& plan,
                   double factor) {
  const double quotient = product(plan.dropped()) / product(plan.target().without(plan.source()));
  const poly::Poly part = multiple(context, rlwe::restrict_to(context, x, plan.source()), factor * quotient);
  poly::Poly out = context.make_poly(part.shape().batch, part.shape().components, plan.target(), part.form());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), out.view(), part.view(), plan, part.form(), workspace);
  return out;
}

}  // namespace

Refinement::Refinement(const rlwe::Context& context, std::size_t low, std::size_t level, std::size_t high,
                       int factor_log2)
    : low_(low),
      level_(level),
      factor_(std::exp2(factor_log2)),
      to_low_(division(context.base(level), context.base(low))),
      to_level_(level == high ? nullptr : division(context.base(high), context.base(level))) {}

Ciphertext Refinement::difference(const Ciphertext& x, const Ciphertext& y) const {
  const rlwe::Context& context = *x.context;
  const double scale = context.scales().level_scale(low_);
  Ciphertext result{x.context, x.meta, multiple(context, x.poly, scale / x.meta.scale * factor_), {}};
  result.meta.scale = scale;
  const poly::Poly low = lowered(context, y.poly, *to_low_, scale * factor_ / y.meta.scale);
  const poly::PolyView view = result.poly.view();
  context.backend().subtract(context.queue(), view, view, low.view(), context.base(low_));
  return result;
}

Ciphertext Refinement::sum(const Ciphertext& y, const Ciphertext& z) const {
  const rlwe::Context& context = *y.context;
  const poly::Division& rescale = context.rescale(level_);
  const double scale = context.scales().level_scale(level_ - 1);
  // Before the rescale that ends the sum.
  const double wanted = scale * context.scales().policy().scales[level_].divisor;
  poly::Poly both = multiple(context, y.poly, wanted / y.meta.scale);
  const double factor = wanted / factor_ / z.meta.scale;
  const poly::Poly rest =
      to_level_ ? lowered(context, z.poly, *to_level_, factor) : multiple(context, z.poly, factor);
  const poly::PolyView view = both.view();
  context.backend().add(context.queue(), view, view, rest.view(), context.base(level_));

  rlwe::Metadata meta = y.meta;
  meta.level = level_ - 1;
  meta.scale = scale;
  Ciphertext result = rlwe::make_ciphertext(y.context, std::move(meta), y.size());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), result.poly.view(), std::as_const(both).view(), rescale,
                                     both.form(), workspace);
  return result;
}

}  // namespace hemera::circuits
