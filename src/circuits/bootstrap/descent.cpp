#include "circuits/bootstrap/descent.hpp"

#include <cmath>
#include <utility>

#include "rlwe/restriction.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

// Bits that a division drops beyond those of primes that it adds: a factor before it then gives any scale
// with the precision of a double.
constexpr double spare_bits = 64;

double product(const poly::RnsBase& base) {
  double result = 1;
  for (const std::uint64_t prime : base.values()) result *= static_cast<double>(prime);
  return result;
}

// The limbs that both bases have, and as many more of the higher one as needed.
poly::RnsBase source_of(const poly::RnsBase& high, const poly::RnsBase& low) {
  poly::RnsBase source = high.intersected(low);
  const poly::RnsBase more = high.without(low);
  const double wanted = low.without(high).log2() + spare_bits;
  double dropped = 0;
  for (std::size_t i = 0; i < more.size() && dropped < wanted; ++i) {
    source = source.united(poly::RnsBase(high.ring(), {more.index(i)}));
    dropped += std::log2(static_cast<double>(more.modulus(i).value()));
  }
  return source;
}

}  // namespace

Descent::Descent(const rlwe::Context& context, std::size_t high, std::size_t low) {
  if (high == low) return;
  division_.emplace(source_of(context.base(high), context.base(low)), context.base(low));
  dropped_ = product(division_->dropped()) / product(division_->target().without(division_->source()));
}

poly::Poly Descent::operator()(const rlwe::Context& context, const poly::Poly& x, double factor) const {
  const poly::RnsBase& base = division_ ? division_->source() : x.base();
  poly::Poly multiple = rlwe::restrict_to(context, x, base);
  const poly::PolyView view = multiple.view();
  context.backend().multiply_scalar(context.queue(), view, view,
                                    ckks::scaled_residues(1, factor * dropped_, base), base);
  if (!division_) return multiple;
  poly::Poly out = context.make_poly(x.shape().batch, x.shape().components, division_->target(), x.form());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), out.view(), std::as_const(multiple).view(), *division_,
                                     x.form(), workspace);
  return out;
}

}  // namespace hemera::circuits
