#include "rlwe/descent.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/exact_quotient.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

// Bits that a division drops beyond those of the primes that it adds.
constexpr double spare_bits = 64;

// The primes of `from` that `to` lacks; both ascending.
Primes without(const Primes& from, const Primes& to) {
  Primes result;
  std::set_difference(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(result));
  return result;
}

}  // namespace

Primes descent_source(Primes high, Primes low) {
  std::sort(high.begin(), high.end());
  std::sort(low.begin(), low.end());
  const Primes more = without(high, low);
  Primes source = without(high, more);
  const double wanted = arith::log2_product(without(low, high)) + spare_bits;
  double dropped = 0;
  for (const std::uint64_t prime : more) {
    if (dropped >= wanted) break;
    source.push_back(prime);
    dropped += std::log2(static_cast<double>(prime));
  }
  std::sort(source.begin(), source.end());
  return source;
}

arith::TwoDoubles descent_quotient(const Primes& high, const Primes& low) {
  return exact_quotient(descent_source(high, low), low);
}

poly::Poly descended(const Context& context, const poly::Poly& x, std::size_t high, std::size_t low,
                     const arith::TwoDoubles& factor) {
  // Scales of files may be anything.
  if (!(factor.value >= 1) || !std::isfinite(factor.value)) {
    throw ScaleError("a descent from level " + std::to_string(high) + " to level " + std::to_string(low) +
                     " can not have the scale that is asked for: it would multiply by 2^" +
                     std::to_string(std::log2(factor.value)) + " before; encode at the scale of a level");
  }
  const poly::Division* division = high == low ? nullptr : &context.descent(high, low).division;
  const poly::RnsBase& base = division == nullptr ? x.base() : division->source();
  const arith::BigInteger whole = arith::BigInteger(factor.value) + arith::BigInteger(factor.rest);
  std::vector<std::uint64_t> residues;
  for (const std::uint64_t modulus : base.values()) residues.push_back(arith::modulo(whole, modulus));
  poly::Poly multiple = context.make_poly(x.shape().batch, x.shape().components, base, x.form(), x.secrecy());
  for_each_run(x, base, [&](std::size_t first, const poly::ConstPolyView& run) {
    const std::size_t limbs = run.shape.limbs;
    const auto indices = base.indices().subspan(first, limbs);
    context.backend().multiply_scalar(context.queue(), multiple.view().limbs(first, limbs), run,
                                      std::span(residues).subspan(first, limbs),
                                      {base.ring(), {indices.begin(), indices.end()}});
  });
  if (division == nullptr) return multiple;
  poly::Poly out = context.make_poly(x.shape().batch, x.shape().components, division->target(), x.form());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), out.view(), std::as_const(multiple).view(), *division,
                                     x.form(), workspace);
  return out;
}

poly::Poly descended_by_ratio(const Context& context, const poly::Poly& x, std::size_t high, std::size_t low,
                              const arith::TwoDoubles& ratio) {
  const arith::TwoDoubles quotient = high == low ? arith::TwoDoubles{1} : context.descent(high, low).quotient;
  return descended(context, x, high, low, arith::nearest_integer(ratio * quotient));
}

}  // namespace hemera::rlwe
