#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/functions/function_evaluation.hpp"
#include "circuits/functions/lowering.hpp"
#include "circuits/imaginary_unit.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;

rlwe::Plaintext encode(const ckks::Encoder& encoder, const poly::RnsBase& base,
                       const Coefficient& coefficient, std::size_t level, double scale) {
  if (coefficient.size() == 1) {
    return rlwe::stored_plaintext(encoder.encode_number(coefficient.front(), level, scale));
  }
  return rlwe::stored_plaintext(
      encoder.encode_over(base, coefficient, {}, level, scale, ckks::Stored::one_period, HUGE_VAL));
}

}  // namespace

PreparedFunction::PreparedFunction(rlwe::ContextPointer context, const FunctionPlan& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_binding(*context_, "function");
  const ckks::Encoder encoder(context_);
  const rlwe::ScalePolicy& scales = context_->scales();
  const std::size_t inputs = plan_.function_.inputs().size();
  for (std::size_t i = 0; i < plan_.steps_.size(); ++i) {
    const FunctionStep& step = plan_.steps_[i];
    const poly::RnsBase& base = context_->base(step.level);
    if (!is_real_number(step.constant)) {
      constants_.emplace(i, encode(encoder, base, step.constant, step.level, step.scale));
    }
    if (step.is_mapped()) continue;
    const bool has_numbers = has_real_numbers(step);
    for (const auto& [value, factor, rest] : step.terms) {
      rlwe::Metadata meta;
      meta.level = value < inputs ? plan_.level() : plan_.steps_[value - inputs].result_level;
      meta.scale = value < inputs ? plan_.scale() : plan_.steps_[value - inputs].result_scale;
      const double there = scales.dropped(meta, step.level).meta.scale;
      const double scale = step.scale / there;
      if (is_lowered(step)) multiples_[i] = std::nearbyint(scale);
      if (has_numbers) {
        arith::TwoDoubles multiple{scale};
        if (step.scale_rest != 0) {
          const double left =
              value < inputs ? plan_.scale_rest_ : plan_.steps_[value - inputs].result_scale_rest;
          multiple = arith::TwoDoubles{step.scale, step.scale_rest} /
                     arith::TwoDoubles{there, there == meta.scale ? left : 0};
        }
        numbers_[i].push_back(scaled_number({factor.front().real(), rest}, multiple, base));
      } else {
        factors_[i].push_back(encode(encoder, base, factor, step.level, scale));
      }
    }
  }
  if (plan_.joins_parts()) imaginary_unit_ = imaginary_unit(context_, plan_.steps_.back().level);
}

void PreparedFunction::check(const ckks::Evaluator& evaluator, std::size_t inputs) const {
  rlwe::require_same_context(*context_, *evaluator.context(), function_operation);
  if (inputs == plan_.function_.inputs().size()) return;
  throw MismatchError("function: it has " + std::to_string(plan_.function_.inputs().size()) +
                      " inputs, and " + std::to_string(inputs) + " ciphertexts were given");
}

std::vector<Ciphertext> PreparedFunction::operator()(const ckks::Evaluator& evaluator,
                                                     std::span<const Ciphertext* const> inputs) const {
  check(evaluator, inputs.size());
  rlwe::require_each(inputs, "function");
  Evaluation evaluation(*this, evaluator);
  evaluation.take(inputs);
  return evaluation.run();
}

std::vector<Ciphertext> PreparedFunction::operator()(const ckks::Evaluator& evaluator,
                                                     std::vector<Ciphertext> inputs) const {
  check(evaluator, inputs.size());
  Evaluation evaluation(*this, evaluator);
  evaluation.take(std::move(inputs));
  return evaluation.run();
}

Ciphertext PreparedFunction::part(const ckks::Evaluator& evaluator, Ciphertext input, Part which) const {
  check(evaluator, 1);
  require_joining();
  Evaluation evaluation(*this, evaluator, which);
  std::vector<Ciphertext> inputs;
  inputs.push_back(std::move(input));
  evaluation.take(std::move(inputs));
  return std::move(evaluation.run().front());
}

Ciphertext PreparedFunction::joined(const ckks::Evaluator& evaluator, const Ciphertext& sum) const {
  check(evaluator, 1);
  require_joining();
  return Evaluation(*this, evaluator).joined(sum);
}

void PreparedFunction::require_joining() const {
  if (plan_.joins_parts()) return;
  throw MismatchError("function: its plan joins no parts; plan it with joins_parts");
}

}  // namespace hemera::circuits
