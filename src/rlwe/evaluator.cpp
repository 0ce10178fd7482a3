#include "hemera/rlwe/evaluator.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "rlwe/descent.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"
#include "rlwe/sum_metadata.hpp"

namespace hemera::rlwe {
namespace {

// a + b or a - b of aligned operands of any sizes and fitting batches; `out` is `a` itself or another
// ciphertext.
void combine(Ciphertext& out, const Ciphertext& a, const Ciphertext& b, bool subtract) {
  const Context& context = *a.context;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(a.meta.level);

  Metadata meta = sum_metadata(context, a.meta, b.meta, subtract ? "subtract" : "add");
  const std::size_t common = std::min(a.size(), b.size());
  const std::size_t rest = std::max(a.size(), b.size()) - common;
  const bool in_place = &out == &a && b.size() <= a.size() && a.poly.shape().batch == batch_count(meta.batch);
  std::optional<runtime::Uninterrupted> whole;
  if (in_place) whole.emplace();
  Ciphertext fresh;
  if (!in_place) fresh = make_ciphertext(a.context, meta, common + rest);
  const poly::PolyView target = (in_place ? out : fresh).poly.view();
  const poly::ConstPolyView x = a.poly.view();
  const poly::ConstPolyView y = b.poly.view();
  if (subtract) {
    backend.subtract(queue, target.components(0, common), x.components(0, common), y.components(0, common),
                     base);
  } else {
    backend.add(queue, target.components(0, common), x.components(0, common), y.components(0, common), base);
  }
  // Components that only the larger operand has are copied or negated, for each element of the batch.
  for (std::size_t i = 0; rest != 0 && !in_place && i < target.shape.batch; ++i) {
    const poly::PolyView element = target.components(common, rest).batches(i, 1);
    const bool from_a = a.size() > b.size();
    const poly::ConstPolyView larger = (from_a ? x : y).components(common, rest);
    const poly::ConstPolyView source = larger.batches(larger.shape.batch == 1 ? 0 : i, 1);
    if (subtract && !from_a) {
      backend.negate(queue, element, source, base);
    } else {
      backend.copy(queue, element, source);
    }
  }
  if (!in_place) out = std::move(fresh);
  out.meta = std::move(meta);
  out.seed.reset();
}

}  // namespace

Evaluator::Evaluator(ContextPointer context, EvaluationKeys keys, Relinearization relinearization)
    : context_(std::move(context)), keys_(std::move(keys)), relinearization_(relinearization) {
  require_filled(context_, "Evaluator");
  if (keys_.context) require_same_context(*context_, *keys_.context, "Evaluator");
}

void Evaluator::require(const Ciphertext& a, const char* operation) const {
  require_filled(a, operation);
  require_same_context(*context_, *a.context, operation);
}

const Ciphertext& Evaluator::at_size_two(const Ciphertext& a, Ciphertext& storage) const {
  if (a.size() == 2) return a;
  storage = a.clone();
  relinearize_inplace(storage);
  return storage;
}

const SwitchingKey& Evaluator::find_key(const KeyRole& role, std::size_t level,
                                        const std::string& what) const {
  if (const auto key = keys_.find(role, level)) return *key;
  if (!keys_.has(role)) throw MissingKeyError(what + missing_key_way_out(keys_));
  std::size_t highest = 0;
  for (const auto& [gadget, key] : keys_.switching.at(role)) highest = std::max(highest, key->level());
  throw LevelError(what + " for level " + std::to_string(level) +
                   ", but the one at hand is limited to level " + std::to_string(highest) +
                   "; bring the ciphertext to a level that it serves, or make the key for its level");
}

const SwitchingKey& Evaluator::galois_key(std::uint64_t element, std::int64_t steps,
                                          std::size_t level) const {
  const std::string what = element == context_->conjugation_element()
                               ? std::string(traits(context_->scheme()).conjugation)
                               : "rotation by " + std::to_string(steps);
  return find_key(KeyRole::galois(element), level,
                  what + " needs the key of Galois element " + std::to_string(element));
}

void Evaluator::take_steps(Ciphertext& a, std::span<const ScaleStep> steps) const {
  // Elsewhere: when a step fails or is interrupted, `a` is as it was.
  Ciphertext storage;
  if (&stepped(a, steps, storage) != &a) a = std::move(storage);
}

const Ciphertext& Evaluator::stepped(const Ciphertext& a, std::span<const ScaleStep> steps,
                                     Ciphertext& storage) const {
  const Ciphertext* from = &a;
  for (const ScaleStep& step : steps) {
    const auto after = [&] { return context_->scales().after(from->meta, step); };
    switch (step.kind) {
      case ScaleStep::Kind::rescale:
        storage = rescale(*from);
        storage.meta.noise_scale_degree = step.degree;
        break;
      case ScaleStep::Kind::drop_limbs:
        storage = {a.context, after(), restrict_to(*context_, from->poly, context_->base(step.level)), {}};
        break;
      case ScaleStep::Kind::descend:
        storage = {a.context,
                   after(),
                   descended(*context_, from->poly, from->meta.level, step.level, step.scale_factor),
                   {}};
        break;
      case ScaleStep::Kind::multiply:
        if (from == &a) storage = a.clone();
        from = &storage;
        multiply_by_factor(storage, step);
        storage.meta = after();
        storage.seed.reset();
        break;
    }
    from = &storage;
  }
  return *from;
}

ScaleWays Evaluator::balanced(const Metadata& a, const Metadata& b) const {
  return {.a = {.meta = a}, .b = {.meta = b}};
}

void Evaluator::notice(Ciphertext&, const char*) const {}

Ciphertext Evaluator::noticed(Ciphertext result, const char* operation) const {
  notice(result, operation);
  return result;
}

void Evaluator::combine_aligned(Ciphertext& out, const Ciphertext& a, const Ciphertext& b,
                                bool subtract) const {
  combine_operands(out, a, b, subtract);
  notice(out, subtract ? "subtract" : "add");
}

void Evaluator::combine_operands(Ciphertext& out, const Ciphertext& a, const Ciphertext& b,
                                 bool subtract) const {
  require(a, subtract ? "subtract" : "add");
  require(b, subtract ? "subtract" : "add");
  if (a.meta.encoding != b.meta.encoding) {
    throw MismatchError("add: one operand is encoded in slots, the other in coefficients; encode both alike");
  }
  const ScalePolicy& scales = context_->scales();
  const bool is_aligned = scales.is_aligned(a.meta, b.meta);
  Ciphertext lowered_a, lowered_b, balanced_a, balanced_b;
  const Ciphertext *x = &a, *y = &b;
  if (!is_aligned) {
    const ScaleWays ways = scales.aligned(a.meta, b.meta);
    x = &stepped(a, ways.a.steps, lowered_a);
    y = &stepped(b, ways.b.steps, lowered_b);
    const ScaleWays balance = balanced(x->meta, y->meta);
    x = &stepped(*x, balance.a.steps, balanced_a);
    y = &stepped(*y, balance.b.steps, balanced_b);
  }
  Ciphertext sum;
  const auto fresh_a = refreshed_addend(a, x->meta, y->meta);
  const auto fresh_b = fresh_a ? std::nullopt : refreshed_addend(b, y->meta, x->meta);
  if (fresh_a || fresh_b) {
    const Ciphertext& left = fresh_a ? *fresh_a : a;
    combine_operands(sum, left, &a == &b ? left : fresh_b ? *fresh_b : b, subtract);
  } else if (is_aligned) {
    return combine(out, a, b, subtract);
  } else {
    combine(sum, *x, *y, subtract);
  }
  out = std::move(sum);
}

std::optional<Ciphertext> Evaluator::refreshed_addend(const Ciphertext&, const Metadata&,
                                                      const Metadata&) const {
  return std::nullopt;
}

std::optional<Ciphertext> Evaluator::refreshed_for_sum(const Ciphertext&, std::size_t) const {
  return std::nullopt;
}

void Evaluator::add_inplace(Ciphertext& a, const Ciphertext& b) const { combine_aligned(a, a, b, false); }

void Evaluator::subtract_inplace(Ciphertext& a, const Ciphertext& b) const { combine_aligned(a, a, b, true); }

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  Ciphertext result;
  combine_aligned(result, a, b, false);
  return result;
}

Ciphertext Evaluator::subtract(const Ciphertext& a, const Ciphertext& b) const {
  Ciphertext result;
  combine_aligned(result, a, b, true);
  return result;
}

void Evaluator::negate_inplace(Ciphertext& a) const {
  require(a, "negate");
  const runtime::Uninterrupted whole;
  context_->backend().negate(context_->queue(), a.poly.view(), std::as_const(a.poly).view(), a.poly.base());
  a.seed.reset();
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  require(a, "negate");
  Ciphertext result = make_ciphertext(context_, a.meta, a.size());
  context_->backend().negate(context_->queue(), result.poly.view(), a.poly.view(), a.poly.base());
  return result;
}

Ciphertext Evaluator::add_many(std::span<const Ciphertext* const> terms) const {
  if (terms.empty()) throw ParameterError("add_many: needs at least one ciphertext");
  require_each(terms, "add_many");
  require(*terms.front(), "add_many");
  Ciphertext sum = terms.front()->clone();
  for (const Ciphertext* term : terms.subspan(1)) add_inplace(sum, *term);
  return sum;
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& b) const {
  require(a, "add_plain");
  Ciphertext sum = a.clone();
  add_plain_inplace(sum, b);
  return sum;
}

Ciphertext Evaluator::subtract_plain(const Ciphertext& a, const Plaintext& b) const {
  require(a, "subtract_plain");
  Ciphertext difference = a.clone();
  subtract_plain_inplace(difference, b);
  return difference;
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, const Scalar& b) const {
  require(a, "add_scalar");
  Ciphertext sum = a.clone();
  add_scalar_inplace(sum, b);
  return sum;
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& a, const Scalar& b) const {
  require(a, "multiply_scalar");
  Ciphertext product = a.clone();
  multiply_scalar_inplace(product, b);
  return product;
}

void Evaluator::relinearize_inplace(Ciphertext& a) const {
  require(a, "relinearize");
  if (a.size() == 2) return;
  relinearize(a, relinearization_key(a.meta.level));
  notice(a, "relinearize");
}

const SwitchingKey& Evaluator::relinearization_key(std::size_t level) const {
  const KeyRole role = KeyRole::relinearization();
  if (!keys_.has(role)) {
    throw MissingKeyError("relinearize: a product of ciphertexts needs the relinearization key" +
                          missing_key_way_out(keys_) + ", or relinearize lazily");
  }
  return find_key(role, level, "relinearize: a product of ciphertexts needs the relinearization key");
}

void Evaluator::drop_to_level_inplace(Ciphertext& a, std::size_t level) const {
  require(a, "drop_to_level");
  take_steps(a, context_->scales().dropped(a.meta, level).steps);
  notice(a, "drop_to_level");
}

Ciphertext Evaluator::lower_to_level(const Ciphertext& a, std::size_t level) const {
  require(a, "lower_to_level");
  Ciphertext storage;
  const Ciphertext& lowered = stepped(a, context_->scales().lowered(a.meta, level).steps, storage);
  return noticed(&lowered == &a ? a.clone() : std::move(storage), "lower_to_level");
}

void Evaluator::lower_to_level_inplace(Ciphertext& a, std::size_t level) const {
  require(a, "lower_to_level");
  take_steps(a, context_->scales().lowered(a.meta, level).steps);
  notice(a, "lower_to_level");
}

Ciphertext Evaluator::power(const Ciphertext& a, std::uint64_t exponent) const {
  require(a, "power");
  if (exponent == 0) throw ParameterError("power: the exponent must be at least 1");
  // x^e = x^(2^k) x^(e - 2^k) with 2^k < e <= 2^(k+1): both factors have depth at most k.
  std::vector<Ciphertext> squares;  // x^(2^i)
  squares.push_back(a.clone());
  const auto nth_square = [&](std::size_t i) -> const Ciphertext& {
    while (squares.size() <= i) squares.push_back(square(squares.back()));
    return squares[i];
  };
  std::vector<std::size_t> factors;
  std::uint64_t rest = exponent;
  while (!std::has_single_bit(rest)) {
    factors.push_back(static_cast<std::size_t>(std::bit_width(rest)) - 1);
    rest -= std::uint64_t{1} << factors.back();
  }
  const auto last = static_cast<std::size_t>(std::countr_zero(rest));
  nth_square(factors.empty() ? last : std::max(last, factors.front()));
  Ciphertext result = squares[last].clone();
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    result = multiply(result, squares[*factor]);
  }
  return result;
}

Ciphertext Evaluator::multiply_many(std::span<const Ciphertext* const> factors) const {
  if (factors.empty()) throw ParameterError("multiply_many: needs at least one ciphertext");
  require_each(factors, "multiply_many");
  if (factors.size() == 1) {
    require(*factors.front(), "multiply_many");
    return factors.front()->clone();
  }
  if (factors.size() == 2) return multiply(*factors[0], *factors[1]);
  const std::size_t half = factors.size() / 2;
  return multiply(multiply_many(factors.first(half)), multiply_many(factors.subspan(half)));
}

Ciphertext Evaluator::shrink(const Ciphertext& a) const {
  require(a, "shrink");
  Ciphertext result = a.clone();
  relinearize_inplace(result);
  take_steps(result, context_->scales().finished(result.meta).steps);
  const std::size_t level = smallest_safe_level(result);
  if (level < result.meta.level) drop_to_level_inplace(result, level);
  return result;
}

Ciphertext Evaluator::reencrypt(const Ciphertext& a, const SwitchingKey& key) const {
  require(a, "reencrypt");
  require_filled(key, "reencrypt");
  Ciphertext storage;
  return noticed(rlwe::reencrypt(at_size_two(a, storage), key), "reencrypt");
}

}  // namespace hemera::rlwe
