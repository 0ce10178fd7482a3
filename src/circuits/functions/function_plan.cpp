#include "hemera/circuits/functions/function_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/coefficient.hpp"
#include "circuits/functions/exact_scales.hpp"
#include "circuits/functions/function_bounds.hpp"
#include "circuits/functions/function_parts.hpp"
#include "circuits/functions/function_rows.hpp"
#include "circuits/functions/lowering.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;
using Rows = std::vector<std::vector<Complex>>;

}  // namespace

FunctionPlan::FunctionPlan(const rlwe::Parameters& parameters, Function function,
                           const FunctionPlanOptions& options)
    : Plan(parameters),
      function_(std::move(function)),
      own_keys_(options.own_keys),
      joins_parts_(options.joins_parts),
      scale_rest_(options.doubles_by_scale ? options.scale_rest : 0),
      slots_(0) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a function of slots is for CKKS, not for " + rlwe::name(parameters.scheme()));
  }
  if (function_.outputs().empty()) throw ParameterError("a function without outputs: call set_outputs");
  const std::size_t width = function_.width();
  slots_ = options.slots != 0 ? options.slots : (width != 1 ? width : parameters.max_slots());
  if (!std::has_single_bit(slots_) || slots_ > parameters.max_slots() || (width != 1 && slots_ != width)) {
    throw ParameterError("a function with coefficients of " + std::to_string(width) +
                         " slots does not act on " + std::to_string(slots_) +
                         "; their number is a power of two up to " + std::to_string(parameters.max_slots()) +
                         ", that of the coefficients if they have several");
  }
  const std::size_t level = options.level.value_or(parameters.highest_user_level());
  require_levels(parameters, options);
  const rlwe::ScalePolicy scales(parameters);
  const double scale = options.scale.value_or(scales.level_scale(level));
  if (!(scale >= 1) || std::log2(scale) + 1 > parameters.log_modulus(level)) {
    throw ParameterError("a function of ciphertexts of scale 2^" + std::to_string(std::log2(scale)) +
                         " at level " + std::to_string(level) + " of " +
                         std::to_string(parameters.log_modulus(level)) + " bits");
  }
  rounding_ = division_error(parameters, slots_);
  ends_ = {.level = level, .scale = scale, .result_level = level, .result_scale = scale};

  const StepCosts costs(parameters);
  largest_ = bounds_over_intervals(function_);
  try {
    lower(Lowering(scales, costs, options.results_drift, options.doubles_by_scale));
  } catch (const ScaleError&) {
    // Scales that drift may not come together; those of the levels do.
    if (!options.results_drift) throw;
    lower(Lowering(scales, costs, false, options.doubles_by_scale));
  }
  if (options.doubles_by_scale) {
    set_exact_scales(steps_, parameters, function_.inputs().size(), ends_, scale_rest_);
  }
  round_factors();
  if (joins_parts_) require_last_product("joins_parts");
  if (options.leaves_rescale) leave_rescale();
  for (const auto& [result_level, result_scale] : results_) {
    if (result_level >= ends_.result_level) continue;
    ends_.result_level = result_level;
    ends_.result_scale = result_scale;
  }
}

void FunctionPlan::require_levels(const rlwe::Parameters& parameters,
                                  const FunctionPlanOptions& options) const {
  const std::size_t level = options.level.value_or(parameters.highest_user_level());
  const bool reserved = options.reserved_levels;
  const std::size_t lowest = reserved ? 0 : parameters.lowest_user_level();
  const std::size_t highest = reserved ? parameters.levels() - 1 : parameters.highest_user_level();
  const std::size_t depth = function_.depth() - (options.leaves_rescale && function_.depth() != 0 ? 1 : 0);
  if (level <= highest && level >= lowest + depth) return;
  throw LevelError("a function of depth " + std::to_string(depth) + " can not start at level " +
                   std::to_string(level) + ": it takes " + std::to_string(depth) +
                   (reserved ? " of the levels" : " of the user's levels") + ", which are " +
                   std::to_string(lowest) + " to " + std::to_string(highest) +
                   "; use parameters of more depth");
}

void FunctionPlan::require_last_product(const char* option) const {
  const std::size_t last = function_.inputs().size() + steps_.size() - 1;
  if (outputs_.size() == 1 && !steps_.empty() && outputs_.front() == last &&
      !steps_.back().products.empty() && steps_.back().rescaled) {
    return;
  }
  throw ParameterError(std::string("a function with ") + option +
                       " has one output, whose last step has a product; make it so, or leave " + option +
                       " out");
}

void FunctionPlan::leave_rescale() {
  require_last_product("leaves_rescale");
  FunctionStep& last = steps_.back();
  last.rescaled = false;
  last.result_level = last.level;
  last.result_scale = last.scale;
  last.result_scale_rest = last.scale_rest;
  results_.front() = {.level = last.level, .scale = last.scale};
}

// A step that maps an interval to [-1, 1], as series take it, has a factor of 2^-30 and a large constant
// where the interval is wide and far from 0. What it maps to 0 stays there, as that is where a sign jumps, or
// else the middle stays where it is; the ends stay inside. Sums of several inputs are rounded as they are.
void FunctionPlan::round_factors() {
  const rlwe::ScalePolicy scales(parameters());
  rlwe::Metadata meta;
  meta.level = level();
  meta.scale = scale();
  const auto is_of_input = [&](const Function::Term& term) {
    return term.value < function_.inputs().size() && is_real_number(term.factor);
  };
  for (FunctionStep& step : steps_) {
    const bool is_map = step.rescaled && step.products.empty() && !step.terms.empty() &&
                        std::all_of(step.terms.begin(), step.terms.end(), is_of_input);
    if (!is_map || is_lowered(step) || step.scale_rest != 0 || !is_real_number(step.constant)) continue;
    const double unit = step.scale / scales.dropped(meta, step.level).meta.scale;
    if (step.terms.size() > 1) {
      for (const Function::Term& term : step.terms) {
        const double factor = term.factor.front().real();
        step.factor_errors.push_back(factor - std::nearbyint(factor * unit) / unit);
      }
      continue;
    }
    Function::Term& term = step.terms.front();
    const auto& [low, high] = function_.inputs()[term.value];
    const double factor = term.factor.front().real(), rounded = std::trunc(factor * unit) / unit;
    const double zero = -step.constant.front().real() / factor;
    const double fixed = low < zero && zero < high ? zero : (low + high) / 2;
    const double moved = (factor - rounded) * fixed;
    if (!std::isfinite(moved) || moved == 0) continue;
    term.factor = {rounded};
    step.constant = {step.constant.front().real() + moved};
    step.factor_errors = {factor - rounded};
    step.fixed = fixed;
  }
}

void FunctionPlan::lower(Lowering lowering) {
  polynomials_.clear();
  std::vector<Value> lowered;  // by value of the function
  for (std::size_t i = 0; i < function_.inputs().size(); ++i) {
    lowered.push_back(lowering.add_input(level(), scale()));
  }
  const std::vector<bool> is_needed = needed_parts(function_);
  for (std::size_t i = 0; i < function_.parts().size(); ++i) {
    const auto& part = function_.parts()[i];
    if (!is_needed[i]) {
      lowered.resize(lowered.size() + value_count(part));
    } else if (const auto* sum = std::get_if<Function::Sum>(&part)) {
      Function::Sum own = *sum;
      for (auto& [a, b] : own.products) {
        a = lowered[a];
        b = lowered[b];
      }
      for (auto& term : own.terms) term.value = lowered[term.value];
      lowered.push_back(lowering.add(own));
    } else {
      const auto& [x, polynomial] = std::get<Function::OfPolynomial>(part);
      const auto values = lowering.add(lowered[x], polynomial);
      polynomials_.insert(polynomials_.end(), values.begin(), values.end());
      lowered.insert(lowered.end(), values.begin(), values.end());
    }
  }
  steps_ = lowering.steps();
  for (const Value output : function_.outputs()) {
    outputs_.push_back(lowered[output]);
    results_.push_back(lowering.at(lowered[output]));
  }
}

std::vector<std::size_t> FunctionPlan::last_uses() const {
  const std::size_t inputs = function_.inputs().size();
  std::vector<std::size_t> last(inputs + steps_.size(), 0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const auto& [a, b] : steps_[i].products) last[a] = last[b] = i;
    for (const auto& term : steps_[i].terms) last[term.value] = i;
  }
  for (const Value output : outputs_) last[output] = steps_.size();
  return last;
}

std::vector<Plan::Input> FunctionPlan::inputs() const {
  const rlwe::BatchShape batch = joins_parts_ ? rlwe::BatchShape{2} : rlwe::BatchShape{};
  return std::vector<Input>(function_.inputs().size(), {.slots = slots_, .batch = batch});
}

Plan::Evaluation FunctionPlan::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedFunction>(context, *this)](const ckks::Evaluator& evaluator,
                                                                         auto inputs) {
    static_cast<void>((*prepared)(evaluator, inputs));
  };
}

std::optional<rlwe::GadgetPrimes> FunctionPlan::gadget_of(const rlwe::KeyRole& /*role*/,
                                                          std::size_t level) const {
  if (!own_keys_) return std::nullopt;
  for (const SharedKey& key : shared_keys_) {
    if (key.levels.contains(level)) return key.gadget;
  }
  return product_gadget(parameters(), level, most_special_primes);
}

FunctionPlan FunctionPlan::with_shared_keys(std::vector<SharedKey> keys) const {
  FunctionPlan result = *this;
  result.own_keys_ = true;
  result.shared_keys_ = std::move(keys);
  result.count_again();
  return result;
}

Rows FunctionPlan::evaluate_clear(std::span<const std::vector<Complex>> inputs) const {
  // The same requirements on the rows.
  static_cast<void>(function_.evaluate(inputs));
  const std::size_t slots = inputs.front().size();
  Rows results(outputs_.size(), std::vector<Complex>(slots));
  for (std::size_t slot = 0; slot < slots; ++slot) {
    std::vector<Complex> values;
    for (const auto& input : inputs) values.push_back(input[slot]);
    for (const FunctionStep& step : steps_) values.push_back(value_of(step, values, slot));
    for (std::size_t i = 0; i < outputs_.size(); ++i) results[i][slot] = values[outputs_[i]];
  }
  return results;
}

}  // namespace hemera::circuits
