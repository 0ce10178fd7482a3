#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "rlwe/integer_plaintext.hpp"
#include "schemes/bfv/message.hpp"
#include "schemes/bfv/multiplier.hpp"
#include "schemes/bfv/noise.hpp"

namespace hemera::bfv {

using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using rlwe::Scalar;

namespace {

// Adds or subtracts round(Q m / t).
void combine_plain(Ciphertext& a, const Plaintext& b, bool subtract, const char* operation) {
  const Context& context = *a.context;
  rlwe::require_plaintext(context, b, operation);
  rlwe::require_same_encoding(a, b, operation);
  rlwe::grow_batch(a, b.meta.batch, operation);
  const poly::Poly message = scaled_message(context, b, a.meta.level, runtime::Secrecy::open);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  const poly::RnsBase& base = context.base(a.meta.level);
  if (subtract) {
    context.backend().subtract(context.queue(), c0, c0, message.view(), base);
  } else {
    context.backend().add(context.queue(), c0, c0, message.view(), base);
  }
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.noise_log2 = rlwe::add_log2(a.meta.noise_log2, -1);
}

}  // namespace

struct Evaluator::Plans {
  std::vector<std::unique_ptr<const Multiplier>> multipliers;  // [level]
};

Evaluator::Evaluator(std::shared_ptr<const Context> context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization)
    : rlwe::Evaluator(std::move(context), std::move(keys), relinearization) {
  const Context& own = *this->context();
  if (own.scheme() != rlwe::Scheme::bfv) {
    throw MismatchError("the context is for " + rlwe::name(own.scheme()) +
                        "; a BFV evaluator needs a BFV context");
  }
  auto plans = std::make_unique<Plans>();
  for (std::size_t level = 0; level <= own.top_level(); ++level) {
    plans->multipliers.push_back(make_multiplier(own, level, own.parameters().literal().bfv_multiplication));
  }
  plans_ = std::move(plans);
}

Evaluator::~Evaluator() = default;

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
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  own.backend().add_scalar(own.queue(), c0, c0, scaled_scalar(own, b.integer, a.meta.level),
                           poly::Form::evaluation, own.base(a.meta.level));
  a.meta.noise_log2 = rlwe::add_log2(a.meta.noise_log2, -1);
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
  return rlwe::switch_modulus(a, switching_half_range);
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
}

bool Evaluator::aligned_for_addition(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  return a.level == b.level && a.encoding == b.encoding;
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Ciphertext& b) const {
  const Context& own = *context();
  rlwe::require_automatic(own, a.meta.level, b.meta.level, "multiply");
  if (a.meta.level != b.meta.level) {
    const bool lower_a = a.meta.level > b.meta.level;
    Ciphertext lowered = rescale(lower_a ? a : b);
    drop_to_level_inplace(lowered, std::min(a.meta.level, b.meta.level));
    rlwe::Factors result = lower_a ? factors(lowered, b) : factors(a, lowered);
    result.hold(std::move(lowered.poly));
    return result;
  }
  const Multiplier& multiplier = *plans_->multipliers[a.meta.level];
  rlwe::Factors result{.a = a.poly.view(), .b = b.poly.view(), .meta = a.meta, .held = {}};
  result.meta.batch = rlwe::broadcast(a.meta.batch, b.meta.batch, "multiply");
  result.meta.slots = rlwe::product_slots(a.meta, b.meta, own.degree());
  const ProductSetting setting{.degree = own.degree(),
                               .plain_modulus = own.parameters().plain_modulus(),
                               .secret = own.parameters().literal().secret,
                               .log_modulus = own.base(a.meta.level).log2(),
                               .rounding_error = multiplier.rounding_error(),
                               .operand_rounding_log2 = multiplier.operand_rounding_log2()};
  result.meta.noise_log2 = product_noise_log2(setting, a.meta.noise_log2, b.meta.noise_log2);
  return result;
}

Ciphertext Evaluator::sum_products(std::span<const rlwe::Factors> products, rlwe::Metadata meta,
                                   const rlwe::SwitchingKey* key) const {
  if (products.front().b.shape.components == 1) {
    return rlwe::Evaluator::sum_products(products, std::move(meta), key);
  }
  const Context& own = *context();
  const Multiplier& multiplier = *plans_->multipliers[meta.level];
  Ciphertext result = rlwe::make_ciphertext(context(), std::move(meta), 3);
  const poly::PolyView out = result.poly.view();
  const std::size_t batch = out.shape.batch;
  const std::size_t part =
      std::min(batch, std::max<std::size_t>(1, scratch_limit / multiplier.scratch_bytes(own.degree())));
  for (std::size_t first = 0; first < batch; first += part) {
    const std::size_t count = std::min(part, batch - first);
    const auto restricted = [&](const poly::ConstPolyView& view) {
      return view.shape.batch == 1 ? view : view.batches(first, count);
    };
    std::vector<Operands> operands;
    for (const rlwe::Factors& product : products) {
      operands.push_back({restricted(product.a), restricted(product.b)});
    }
    multiplier.sum_products(own, out.batches(first, count), operands);
  }
  if (key != nullptr) rlwe::relinearize(result, *key);
  return result;
}

std::size_t Evaluator::smallest_safe_level(const Ciphertext& a) const {
  return rlwe::smallest_level(a, switching_half_range, room_log2(context()->parameters().plain_modulus()));
}

}  // namespace hemera::bfv
