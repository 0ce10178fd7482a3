#include "circuits/functions/function_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "circuits/functions/function_bounds.hpp"
#include "circuits/functions/lowering.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::circuits {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using rlwe::Ciphertext;
using Value = Function::Value;

namespace {

bool has_complex(const Coefficient& coefficient) {
  return std::any_of(coefficient.begin(), coefficient.end(), [](const auto& c) { return c.imag() != 0; });
}

bool has_complex(const FunctionStep& step) {
  return has_complex(step.constant) || std::any_of(step.terms.begin(), step.terms.end(),
                                                   [](const auto& term) { return has_complex(term.factor); });
}

// The values that a step takes, some more than once.
std::vector<Value> operands_of(const FunctionStep& step) {
  std::vector<Value> values;
  for (const auto& [a, b] : step.products) values.insert(values.end(), {a, b});
  for (const auto& term : step.terms) values.push_back(term.value);
  return values;
}

}  // namespace

// An input at the plan's level and scale; copies are kept.
const Ciphertext* PreparedFunction::Evaluation::fitted(const Ciphertext& input) {
  const FunctionPlan& plan = prepared_.plan_;
  rlwe::require_same_context(context_, *input.context, function_operation);
  if (plan.function_.width() != 1 && input.meta.slots != plan.function_.width()) {
    throw MismatchError("function: its coefficients are of " + std::to_string(plan.function_.width()) +
                        " slots, and the ciphertext has " + std::to_string(input.meta.slots) +
                        "; give as many coefficients");
  }
  const rlwe::ScalePolicy& scales = context_.scales();
  const auto fits = [&](const Ciphertext& x) {
    return x.meta.level == plan.level() && scales.close(x.meta.scale, plan.scale());
  };
  if (input.size() == 2 && scales.finished(input.meta).steps.empty() && fits(input)) return &input;
  auto copy = std::make_unique<Ciphertext>(input.clone());
  if (copy->size() > 2) evaluator_.relinearize_inplace(*copy);
  if (!scales.finished(copy->meta).steps.empty()) evaluator_.rescale_inplace(*copy);
  if (copy->meta.level < plan.level()) {
    throw LevelError("function: it was planned for level " + std::to_string(plan.level()) +
                     ", and the ciphertext is at level " + std::to_string(copy->meta.level) +
                     "; plan it for that level");
  }
  if (copy->meta.level > plan.level()) {
    if (scales.close(copy->meta.scale, plan.scale())) {
      evaluator_.drop_to_level_inplace(*copy, plan.level());
    } else {
      evaluator_.adjust_to_level_inplace(*copy, plan.level(), plan.scale());
    }
  }
  if (!scales.close(copy->meta.scale, plan.scale())) {
    throw ScaleError("function: it was planned for the scale 2^" + std::to_string(std::log2(plan.scale())) +
                     ", and the ciphertext has 2^" + std::to_string(std::log2(copy->meta.scale)) +
                     "; plan it for that scale");
  }
  fitted_.push_back(std::move(copy));
  return fitted_.back().get();
}

void PreparedFunction::Evaluation::take(std::span<const Ciphertext* const> inputs) {
  for (const Ciphertext* input : inputs) {
    rlwe::require_filled(*input, function_operation);
    largest_.push_back(input->meta.largest);
  }
  prepared_.plan_.function_.require_in_intervals(largest_);
  for (const Ciphertext* input : inputs) {
    if (!prepared_.plan_.joins_parts() || part_ ||
        (!input->meta.batch.empty() && input->meta.batch.front() == 2))
      continue;
    throw MismatchError(
        "function: it joins real and imaginary parts, which are a batch of [2, ...], not of " +
        rlwe::to_text(input->meta.batch) + "; stack them");
  }
  for (const Ciphertext* input : inputs) values_.push_back({.outside = fitted(*input)});
}

void PreparedFunction::Evaluation::take(std::vector<Ciphertext> inputs) {
  for (Ciphertext& input : inputs) fitted_.push_back(std::make_unique<Ciphertext>(std::move(input)));
  std::vector<const Ciphertext*> given;
  for (const auto& input : fitted_) given.push_back(input.get());
  take(given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (values_[i].outside != given[i]) continue;  // of another level or scale
    values_[i] = {.meta = given[i]->meta, .poly = std::make_shared<poly::Poly>(std::move(fitted_[i]->poly))};
  }
}

std::vector<double> PreparedFunction::Evaluation::result_bounds() const {
  const FunctionPlan& plan = prepared_.plan_;
  const bool is_declared =
      std::all_of(largest_.begin(), largest_.end(), [](double bound) { return std::isfinite(bound); });
  if (!is_declared) return std::vector<double>(plan.outputs_.size(), HUGE_VAL);
  return plan.function_.is_unbounded() ? bounds_of(plan.function_, largest_) : plan.largest_;
}

std::vector<Ciphertext> PreparedFunction::Evaluation::run() {
  const FunctionPlan& plan = prepared_.plan_;
  const std::vector<std::size_t> last = plan.last_uses();
  for (const FunctionRow& row : rows_of(plan.steps_, values_.size(), plan.outputs_)) {
    if (row.has_sums && is_even(row)) {
      run_sums(row, last);
      continue;
    }
    if (row.is_batch() && is_even(row)) {
      run_batch(row, last);
      continue;
    }
    for (std::size_t i = row.first; i < row.end; ++i) {
      run_step(i, last);
      release(i, last);
    }
  }
  const std::vector<double> bounds = result_bounds();
  std::vector<Ciphertext> results;
  for (std::size_t i = 0; i < plan.outputs_.size(); ++i) {
    results.push_back(output(plan.outputs_[i]));
    results.back().meta.largest = bounds[i];
  }
  return results;
}

Ciphertext PreparedFunction::Evaluation::output(Value value) {
  const std::vector<Value>& outputs = prepared_.plan_.outputs_;
  Held& held = values_[value];
  const bool is_free = held.outside == nullptr && held.poly.use_count() == 1 &&
                       held.poly->shape().batch == rlwe::batch_count(held.meta.batch) &&
                       std::count(outputs.begin(), outputs.end(), value) == 1;
  if (!is_free) return copied(value);
  return {prepared_.context_, held.meta, std::move(*held.poly), {}};
}

const rlwe::Metadata& PreparedFunction::Evaluation::meta(Value value) const {
  const Held& held = values_[value];
  return held.outside != nullptr ? held.outside->meta : held.meta;
}

const poly::RnsBase& PreparedFunction::Evaluation::base(Value value) const {
  const Held& held = values_[value];
  return held.outside != nullptr ? held.outside->poly.base() : held.poly->base();
}

ConstPolyView PreparedFunction::Evaluation::whole(Value value) const {
  const Held& held = values_[value];
  if (held.outside != nullptr) return held.outside->poly.view();
  return std::as_const(*held.poly).view().batches(held.first, rlwe::batch_count(held.meta.batch));
}

Ciphertext PreparedFunction::Evaluation::copied(Value value) const {
  if (values_[value].outside != nullptr) return values_[value].outside->clone();
  Ciphertext copy = rlwe::make_ciphertext(prepared_.context_, meta(value), 2);
  context_.backend().copy(context_.queue(), copy.poly.view(), whole(value));
  return copy;
}

// The value with the limbs of a level.
const Ciphertext& PreparedFunction::Evaluation::at(Value value, std::size_t level) {
  auto& lower = values_[value].lower;
  if (const auto found = lower.find(level); found != lower.end()) return found->second;
  Ciphertext part = copied(value);
  if (context_.base(level).without(base(value)).empty()) {
    part.poly = rlwe::restrict_to(context_, part.poly, context_.base(level));
    part.meta.level = level;
  } else {
    evaluator_.drop_to_level_inplace(part, level);
  }
  return lower.emplace(level, std::move(part)).first->second;
}

// The same to read, without a copy where the level's limbs come first.
ConstPolyView PreparedFunction::Evaluation::view(Value value, std::size_t level) {
  const auto wanted = context_.base(level).values(), there = base(value).values();
  if (wanted.size() <= there.size() && std::equal(wanted.begin(), wanted.end(), there.begin())) {
    return whole(value).limbs(0, wanted.size());
  }
  return at(value, level).poly.view();
}

void PreparedFunction::Evaluation::store(Ciphertext result, const FunctionStep& step) {
  result.meta.scale = step.result_scale;
  result.meta.noise_scale_degree = step.rescaled || step.products.empty() ? 1 : 2;
  values_.push_back(
      {.meta = std::move(result.meta), .poly = std::make_shared<poly::Poly>(std::move(result.poly))});
}

void PreparedFunction::Evaluation::release(std::size_t step, const std::vector<std::size_t>& last) {
  for (std::size_t value = 0; value < values_.size(); ++value) {
    if (last[value] == step) values_[value] = {};
  }
}

// Sums carry no bounds: those of the results are the plan's.
rlwe::Metadata PreparedFunction::Evaluation::metadata(const FunctionStep& step) const {
  const std::vector<Value> values = operands_of(step);
  rlwe::Metadata result = meta(values.front());
  for (const Value value : values) {
    const rlwe::Metadata& other = meta(value);
    result.batch = rlwe::broadcast(result.batch, other.batch, function_operation);
    rlwe::join_filling(result, result, other, false);
    result.slots = std::max(result.slots, other.slots);
  }
  result.is_complex = result.is_complex || has_complex(step);
  result.padding = rlwe::no_longer_zeros(result);
  if (prepared_.plan_.function_.width() != 1 && result.padding == rlwe::Padding::uniform) {
    result.padding = result.filled == 0 ? rlwe::Padding::zeros : rlwe::Padding::unknown;
  }
  return waiting(std::move(result), step);
}

rlwe::Metadata PreparedFunction::Evaluation::waiting(rlwe::Metadata result, const FunctionStep& step) {
  result.level = step.level;
  result.scale = step.scale;
  result.noise_scale_degree = 2;
  result.largest = HUGE_VAL;
  return result;
}

void PreparedFunction::Evaluation::run_step(std::size_t number, const std::vector<std::size_t>& last) {
  const FunctionPlan& plan = prepared_.plan_;
  const FunctionStep& step = plan.steps_[number];
  if (step.is_mapped()) {
    map(number, last[step.terms.front().value] == number);
  } else if (plan.joins_parts_ && number + 1 == plan.steps_.size()) {
    store(part_ ? unjoined(number) : joined(number), step);
  } else {
    store(sum(number), step);
  }
}

// --- Batches. ---

bool PreparedFunction::Evaluation::is_even(const FunctionRow& row) const {
  const rlwe::BatchShape* batch = nullptr;
  for (std::size_t i = row.first; i < row.end; ++i) {
    for (const Value value : operands_of(prepared_.plan_.steps_[i])) {
      if (value >= values_.size()) continue;  // of the row itself
      if (batch != nullptr && meta(value).batch != *batch) return false;
      batch = &meta(value).batch;
    }
  }
  return true;
}

PreparedFunction::Evaluation::Held PreparedFunction::Evaluation::rescaled_in(
    std::shared_ptr<poly::Poly> results, const FunctionStep& step) const {
  Held held{.meta = context_.scales().rescaled(metadata(step)), .poly = std::move(results)};
  held.meta.scale = step.result_scale;
  held.meta.noise_scale_degree = 1;
  return held;
}

void PreparedFunction::Evaluation::run_batch(const FunctionRow& row, const std::vector<std::size_t>& last) {
  const std::vector<FunctionStep>& steps = prepared_.plan_.steps_;
  const std::size_t level = steps[row.first].level;
  const poly::RnsBase &above = context_.base(level), &below = context_.base(level - 1);
  const std::size_t count = rlwe::batch_count(meta(operands_of(steps[row.first]).front()).batch);
  const auto results = std::make_shared<poly::Poly>(
      context_.make_poly((row.lowered + row.products) * count, 2, below, Form::evaluation));
  const auto result = [&](std::size_t place) { return results->view().batches(place * count, count); };
  std::optional<poly::Poly> products;
  std::size_t lowered = 0, product = 0, done = row.first;  // steps before `done` are lowered already
  for (std::size_t i = row.first; i < row.end; ++i) {
    const FunctionStep& step = steps[i];
    if (!step.rescaled) {
      run_step(i, last);
      release(i, last);
      continue;
    }
    Held held = rescaled_in(results, step);
    if (step.products.empty()) {
      if (i >= done) done = lower_along(i, row.end, results->view(), lowered * count, count);
      held.first = lowered++ * count;
    } else {
      held.first = (row.lowered + product) * count;
      if (row.products == 1 && is_single(step)) {
        multiply_relinearize(result(row.lowered), step);
      } else {
        if (!products) products = context_.make_poly(row.products * count, 3, above, Form::evaluation);
        const PolyView out = products->view().batches(product * count, count);
        multiply(out, step);
        add_numbers(out.components(0, 2), i);
      }
      ++product;
    }
    values_.push_back(std::move(held));
    release(i, last);
  }
  if (products) {
    relinearize(results->view().batches(row.lowered * count, row.products * count),
                std::as_const(*products).view(), level, level - 1);
  }
}

// Divides all sums together, and reads each value once where it is multiplied by plaintexts.
void PreparedFunction::Evaluation::run_sums(const FunctionRow& row, const std::vector<std::size_t>& last) {
  const std::vector<FunctionStep>& steps = prepared_.plan_.steps_;
  const FunctionStep& first = steps[row.first];
  const poly::RnsBase &above = context_.base(first.level), &below = context_.base(first.level - 1);
  const std::size_t count = rlwe::batch_count(metadata(first).batch), all = (row.end - row.first) * count;
  const poly::Backend& backend = context_.backend();
  poly::Poly sums = context_.make_poly(all, 2, above, Form::evaluation);
  std::vector<ConstPolyView> values, factors;
  std::vector<PolyView> out;
  const bool has_numbers = has_real_numbers(first);
  for (std::size_t i = row.first; i < row.end; ++i) {
    out.push_back(sums.view().batches((i - row.first) * count, count));
    if (has_numbers) {
      add_numbers(out.back(), i);
    } else {
      for (const rlwe::Plaintext& factor : prepared_.factors_.at(i)) factors.push_back(factor.poly.view());
    }
  }
  if (!has_numbers) {
    for (const auto& term : first.terms) values.push_back(view(term.value, first.level));
    backend.inner_products(context_.queue(), out, values, factors, above);
    for (std::size_t i = row.first; i < row.end; ++i) add_constant(out[i - row.first].components(0, 1), i);
  }
  const auto results = std::make_shared<poly::Poly>(context_.make_poly(all, 2, below, Form::evaluation));
  auto workspace = context_.make_workspace();
  backend.divide_and_round(context_.queue(), results->view(), std::as_const(sums).view(),
                           context_.rescale(first.level), Form::evaluation, workspace);
  for (std::size_t i = row.first; i < row.end; ++i) {
    Held held = rescaled_in(results, steps[i]);
    held.first = (i - row.first) * count;
    values_.push_back(std::move(held));
    release(i, last);
  }
}

// Lowers the value of a step to `first` of the results, and those of the next steps that stand after it in
// memory to what follows there. Returns the first step that is not done.
std::size_t PreparedFunction::Evaluation::lower_along(std::size_t step, std::size_t end,
                                                      const PolyView& results, std::size_t first,
                                                      std::size_t count) {
  const std::vector<FunctionStep>& steps = prepared_.plan_.steps_;
  const Value value = steps[step].terms.front().value;
  const std::size_t level = steps[step].level;
  const double factor = prepared_.multiples_.at(step);
  const Held& held = values_[value];
  ConstPolyView in = view(value, level);
  std::size_t next = step + 1;
  if (held.outside == nullptr && !held.lower.contains(level)) {
    for (; next < end && is_lowered(steps[next]); ++next) {
      const Held& other = values_[steps[next].terms.front().value];
      if (other.poly != held.poly || other.first != held.first + (next - step) * count ||
          prepared_.multiples_.at(next) != factor) {
        break;
      }
    }
    in = std::as_const(*held.poly).view().batches(held.first, (next - step) * count);
    in = in.limbs(0, context_.base(level).size());
  }
  auto workspace = context_.make_workspace();
  context_.backend().divide_and_round(context_.queue(), results.batches(first, (next - step) * count), in,
                                      context_.rescale(level, factor), Form::evaluation, workspace);
  return next;
}

}  // namespace hemera::circuits
