#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bgv.hpp"
#include "rlwe/integer_plaintext.hpp"
#include "schemes/bgv/correction.hpp"
#include "schemes/bgv/noise.hpp"

namespace hemera::bgv {

using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using rlwe::Scalar;

namespace {

double half_range(const Context& context) {
  return switching_half_range(context.parameters().plain_modulus());
}

// Adds or subtracts m times the correction factor.
void combine_plain(Ciphertext& a, const Plaintext& b, bool subtract, const char* operation) {
  const Context& context = *a.context;
  rlwe::require_plaintext(context, b, operation);
  rlwe::require_same_encoding(a, b, operation);
  rlwe::grow_batch(a, b.meta.batch, operation);
  const poly::RnsBase& base = context.base(a.meta.level);
  const poly::Poly message =
      rlwe::lift_plaintext(context, b, base, a.meta.correction, {}, runtime::Secrecy::open);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  if (subtract) {
    context.backend().subtract(context.queue(), c0, c0, message.view(), base);
  } else {
    context.backend().add(context.queue(), c0, c0, message.view(), base);
  }
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.noise_log2 = rlwe::add_log2(
      a.meta.noise_log2, std::log2(static_cast<double>(context.parameters().plain_modulus())) - 1);
}

// Multiplies by a small integer that leaves the value as it is: the correction factor takes it.
void scale_with_correction(Ciphertext& a, std::int64_t factor) {
  if (factor == 1) return;
  const Context& context = *a.context;
  const arith::Modulus& t = context.plain_base().modulus(0);
  const poly::RnsBase& base = context.base(a.meta.level);
  context.backend().multiply_scalar(context.queue(), a.poly.view(), std::as_const(a.poly).view(),
                                    rlwe::residues(factor, base), base);
  a.meta.correction = t.multiply(a.meta.correction, t.reduce_signed(factor));
  a.meta.noise_log2 += std::log2(std::abs(static_cast<double>(factor)));
  a.seed.reset();
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Context> context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization)
    : rlwe::Evaluator(std::move(context), std::move(keys), relinearization) {
  const Context& own = *this->context();
  if (own.scheme() != rlwe::Scheme::bgv) {
    throw MismatchError("the context is for " + rlwe::name(own.scheme()) +
                        "; a BGV evaluator needs a BGV context");
  }
  for (std::size_t level = 0; level <= own.top_level(); ++level) {
    log_moduli_.push_back(own.base(level).log2());
  }
}

void Evaluator::add_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  require(a, "add_plain");
  combine_plain(a, b, false, "add_plain");
}

void Evaluator::subtract_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  require(a, "subtract_plain");
  combine_plain(a, b, true, "subtract_plain");
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Plaintext& b) const {
  return rlwe::plaintext_factors(a, b);
}

void Evaluator::add_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "add_scalar");
  const Context& own = *context();
  const arith::Modulus& t = own.plain_base().modulus(0);
  const std::int64_t term = t.centered(t.multiply(t.reduce_signed(b.integer), a.meta.correction));
  const poly::RnsBase& base = own.base(a.meta.level);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  own.backend().add_scalar(own.queue(), c0, c0, rlwe::residues(term, base), poly::Form::evaluation, base);
  if (term != 0) {
    a.meta.noise_log2 = rlwe::add_log2(a.meta.noise_log2, std::log2(std::abs(static_cast<double>(term))));
  }
}

void Evaluator::multiply_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "multiply_scalar");
  const Context& own = *context();
  const arith::Modulus& t = own.plain_base().modulus(0);
  const std::int64_t factor = t.centered(t.reduce_signed(b.integer));
  const poly::RnsBase& base = own.base(a.meta.level);
  own.backend().multiply_scalar(own.queue(), a.poly.view(), std::as_const(a.poly).view(),
                                rlwe::residues(factor, base), base);
  a.meta.noise_log2 += std::log2(std::max(1.0, std::abs(static_cast<double>(factor))));
  a.seed.reset();
}

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  require(a, "rescale");
  Ciphertext result = rlwe::switch_modulus(a, half_range(*context()));
  const arith::Modulus& t = context()->plain_base().modulus(0);
  result.meta.correction = t.multiply(a.meta.correction, switching_correction(*context(), a.meta.level));
  return result;
}

void Evaluator::drop_to_level_inplace(Ciphertext& a, std::size_t level) const {
  require(a, "drop_to_level");
  rlwe::require_not_above(a, level);
  while (a.meta.level > level) rescale_inplace(a);
}

void Evaluator::align_for_addition(Ciphertext& a, Ciphertext& b) const {
  rlwe::require_same_encoding(a, b, "add");
  rlwe::require_automatic(*context(), a.meta.level, b.meta.level, "add");
  const std::size_t level = std::min(a.meta.level, b.meta.level);
  drop_to_level_inplace(a, level);
  drop_to_level_inplace(b, level);
  if (a.meta.correction == b.meta.correction) return;
  const Multipliers multipliers = balance(context()->plain_base().modulus(0), a.meta.correction,
                                          b.meta.correction, a.meta.noise_log2, b.meta.noise_log2);
  scale_with_correction(a, multipliers.a);
  scale_with_correction(b, multipliers.b);
}

bool Evaluator::aligned_for_addition(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  return a.level == b.level && a.correction == b.correction && a.encoding == b.encoding;
}

std::size_t Evaluator::product_level(const Ciphertext& a, const Ciphertext& b) const {
  const Context& own = *context();
  if (own.parameters().literal().rescaling == rlwe::Rescaling::manual) {
    rlwe::require_automatic(own, a.meta.level, b.meta.level, "multiply");
    return a.meta.level;
  }
  const LevelSetting setting{
      .degree = own.degree(),
      .log_moduli = log_moduli_,
      .rounding_log2 =
          rlwe::rounding_noise_log2(own.degree(), own.parameters().literal().secret, 2, half_range(own)),
      .switching_log2 = [&](std::size_t level) { return rlwe::switching_noise_log2(own, level); }};
  return multiplication_level(setting, {a.meta.level, a.meta.noise_log2}, {b.meta.level, b.meta.noise_log2});
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Ciphertext& b) const {
  const Context& own = *context();
  const std::size_t level = product_level(a, b);
  // Copies only where an operand has to come down.
  Ciphertext lowered_a;
  Ciphertext lowered_b;
  const auto at_level = [&](const Ciphertext& operand, Ciphertext& storage) -> const Ciphertext& {
    if (operand.meta.level == level) return operand;
    storage = rescale(operand);
    drop_to_level_inplace(storage, level);
    return storage;
  };
  const Ciphertext& x = at_level(a, lowered_a);
  const Ciphertext& y = &a == &b ? x : at_level(b, lowered_b);

  rlwe::Factors result{.a = x.poly.view(), .b = y.poly.view(), .meta = x.meta, .held = {}};
  result.meta.batch = rlwe::broadcast(x.meta.batch, y.meta.batch, "multiply");
  result.meta.slots = rlwe::product_slots(x.meta, y.meta, own.degree());
  result.meta.correction = own.plain_base().modulus(0).multiply(x.meta.correction, y.meta.correction);
  result.meta.noise_log2 = product_noise_log2(own.degree(), x.meta.noise_log2, y.meta.noise_log2);
  result.hold(std::move(lowered_a.poly));
  result.hold(std::move(lowered_b.poly));
  return result;
}

std::size_t Evaluator::smallest_safe_level(const Ciphertext& a) const {
  return rlwe::smallest_level(a, half_range(*context()), room_log2);
}

}  // namespace hemera::bgv
