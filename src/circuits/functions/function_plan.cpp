#include "hemera/circuits/functions/function_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/coefficient.hpp"
#include "circuits/functions/function_bounds.hpp"
#include "circuits/functions/function_parts.hpp"
#include "circuits/functions/lowering.hpp"
#include "circuits/rounding_model.hpp"
#include "circuits/switch_extent.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;
using Rows = std::vector<std::vector<Complex>>;

// Values of each input, evenly spread, at which the expected error is taken; the ends come on top.
constexpr std::size_t sample_count = 1024;

// Sample `number` of input `input`, in [-1, 1]; each input goes through them in another order.
double sample_at(std::size_t number, std::size_t input) {
  if (number >= sample_count) return (number - sample_count) >> input & 1 ? 1 : -1;
  const std::size_t place = (number * (2 * input + 1) + 7 * input) % sample_count;
  return (2 * static_cast<double>(place) + 1) / static_cast<double>(sample_count) - 1;
}

Complex value_of(const FunctionStep& step, const std::vector<Complex>& values, std::size_t slot) {
  Complex sum = 0;
  for (const auto& [a, b] : step.products) sum += values[a] * values[b];
  sum = static_cast<double>(step.factor) * sum + in_slot(step.constant, slot);
  for (const auto& [value, factor] : step.terms) sum += in_slot(factor, slot) * values[value];
  return sum;
}

}  // namespace

FunctionPlan::FunctionPlan(const rlwe::Parameters& parameters, Function function,
                           const FunctionPlanOptions& options)
    : Plan(parameters), function_(std::move(function)) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a function of slots is for CKKS, not for " + rlwe::name(parameters.scheme()));
  }
  if (function_.outputs().empty()) throw ParameterError("a function without outputs: call set_outputs");
  const std::size_t width = function_.width();
  const std::size_t slots =
      options.slots != 0 ? options.slots : (width != 1 ? width : parameters.max_slots());
  if (!std::has_single_bit(slots) || slots > parameters.max_slots() || (width != 1 && slots != width)) {
    throw ParameterError("a function with coefficients of " + std::to_string(width) +
                         " slots does not act on " + std::to_string(slots) +
                         "; their number is a power of two up to " + std::to_string(parameters.max_slots()) +
                         ", that of the coefficients if they have several");
  }
  const std::size_t lowest = parameters.lowest_user_level(), highest = parameters.highest_user_level();
  const std::size_t level = options.level.value_or(highest);
  const std::size_t depth = function_.depth();
  if (level > highest || level < lowest + depth) {
    throw LevelError("a function of depth " + std::to_string(depth) + " can not start at level " +
                     std::to_string(level) + ": it takes " + std::to_string(depth) +
                     " of the user's levels, which are " + std::to_string(lowest) + " to " +
                     std::to_string(highest) + "; use parameters of more depth");
  }
  const rlwe::ScalePolicy scales(parameters);
  const double scale = options.scale.value_or(scales.level_scale(level));
  if (!(scale >= 1) || std::log2(scale) + 1 > parameters.log_modulus(level)) {
    throw ParameterError("a function of ciphertexts of scale 2^" + std::to_string(std::log2(scale)) +
                         " at level " + std::to_string(level) + " of " +
                         std::to_string(parameters.log_modulus(level)) + " bits");
  }
  rounding_ = division_error(parameters, slots);
  cost_.level = level;
  cost_.scale = scale;

  const StepCosts costs(parameters);
  largest_ = bounds_over_intervals(function_);
  try {
    lower(Lowering(scales, costs, options.results_drift));
  } catch (const ScaleError&) {
    // Scales that drift may not come together; those of the levels do.
    if (!options.results_drift) throw;
    lower(Lowering(scales, costs, false));
  }
  tell_needs(parameters, options.own_keys);
}

void FunctionPlan::lower(Lowering lowering) {
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

void FunctionPlan::tell_needs(const rlwe::Parameters& parameters, bool own_keys) {
  cost_.result_level = cost_.level;
  cost_.result_scale = cost_.scale;
  for (const auto& [level, scale] : results_) {
    if (level >= cost_.result_level) continue;
    cost_.result_level = level;
    cost_.result_scale = scale;
  }
  const auto limbs = [&](std::size_t level) { return parameters.literal().levels[level].size(); };
  const std::size_t limb_bytes = parameters.degree() * sizeof(std::uint64_t);
  const std::vector<std::size_t> last = last_uses();
  const std::size_t inputs = function_.inputs().size();
  std::set<std::size_t> levels;  // of products
  const auto gadget_at = [&](std::size_t level) {
    return own_keys ? product_gadget(parameters, level, most_special_primes)
                    : parameters.default_gadget(level);
  };
  std::size_t held = 0;                                         // limbs of values in between
  std::map<std::pair<Value, std::size_t>, std::size_t> copies;  // of values at lower levels: their limbs
  const auto level_of = [&](Value value) {
    return value < inputs ? cost_.level : steps_[value - inputs].result_level;
  };
  const auto copy_to = [&](Value value, std::size_t level) {
    if (level_of(value) == level) return;
    const std::size_t own = 2 * limbs(level);
    if (copies.emplace(std::pair(value, level), own).second) held += own;
  };
  // Terms read the level's limbs where they come first.
  const auto comes_first = [&](Value value, std::size_t level) {
    const auto &part = parameters.literal().levels[level],
               &all = parameters.literal().levels[level_of(value)];
    return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin());
  };
  const auto dropped_limbs = [&](std::size_t from, std::size_t to) {
    const auto &before = parameters.literal().levels[from], &after = parameters.literal().levels[to];
    return static_cast<std::size_t>(std::count_if(before.begin(), before.end(), [&](std::uint64_t prime) {
      return std::find(after.begin(), after.end(), prime) == after.end();
    }));
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const FunctionStep& step = steps_[i];
    Work& work = cost_.work[step.level];
    if (!step.products.empty()) {
      ++cost_.key_products;
      levels.insert(step.level);
    }
    cost_.products += step.products.size();
    cost_.rescales += step.rescaled && step.products.empty() ? 1 : 0;
    // Of a product, its relinearization and the scratch of that; of a sum, what it is rescaled to and the
    // residues that this drops, with a row for their quotient where they are several.
    std::size_t used = 2 * limbs(step.level);
    if (step.rescaled) {
      const std::size_t dropped = dropped_limbs(step.level, step.result_level);
      used += 2 * (limbs(step.result_level) + dropped + (dropped > 1 ? 1 : 0));
    }
    if (!step.products.empty()) {
      const SwitchExtent extent(parameters, gadget_at(step.level), step.level);
      extent.add_switches(work, 1);
      work.products += step.products.size() * 3 * extent.base;
      used = 6 * extent.base + 2 * extent.extended;
    }
    work.divisions += step.rescaled && step.products.empty() ? 2 * limbs(step.level) : 0;
    for (const auto& [a, b] : step.products) {
      copy_to(a, step.level);
      copy_to(b, step.level);
    }
    for (const auto& term : step.terms) {
      if (step.rescaled && !comes_first(term.value, step.level)) copy_to(term.value, step.level);
    }
    if (step.rescaled) {
      cost_.plain_products += step.terms.size();
      work.products += step.terms.size() * 2 * limbs(step.level);
      for (const auto& term : step.terms) {
        if (has_real_numbers(step)) break;  // their residues alone
        const std::size_t entries = std::min(parameters.degree(), ckks::period_entries(term.factor.size()));
        cost_.plaintext_bytes += limbs(step.level) * entries * sizeof(std::uint64_t);
      }
    }
    if (!is_real_number(step.constant)) {
      const std::size_t entries = std::min(parameters.degree(), ckks::period_entries(step.constant.size()));
      cost_.plaintext_bytes += limbs(step.level) * entries * sizeof(std::uint64_t);
    }
    cost_.workspace_bytes = std::max(cost_.workspace_bytes, (held + used) * limb_bytes);
    held += 2 * limbs(step.result_level);
    for (std::size_t value = inputs; value < inputs + i + 1; ++value) {
      if (last[value] == i) held -= 2 * limbs(steps_[value - inputs].result_level);
    }
    std::erase_if(copies, [&](const auto& copy) {
      const bool ends = last[copy.first.first] == i;
      if (ends) held -= copy.second;
      return ends;
    });
  }
  cost_.mod_ups = cost_.divisions = cost_.key_products;
  // The highest one's usual key serves the others.
  if (!own_keys && !levels.empty()) levels.erase(levels.begin(), std::prev(levels.end()));
  for (const std::size_t level : levels) add_need({rlwe::KeyRole::relinearization(), gadget_at(level)});
  cost_.key_bytes = key_bytes(parameters.degree(), needed_keys_);
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

ExpectedError FunctionPlan::error_from(double fresh) const {
  const std::size_t inputs = function_.inputs().size();
  const std::size_t ends = std::size_t{1} << std::min<std::size_t>(inputs, 4);
  double sum = 0, worst = 0;
  for (std::size_t sample = 0; sample < sample_count + ends; ++sample) {
    const std::size_t slot = sample % function_.width();
    std::vector<Complex> values;
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto& [low, high] = function_.inputs()[i];
      values.emplace_back((low + high) / 2 + sample_at(sample, i) * (high - low) / 2);
    }
    for (const FunctionStep& step : steps_) values.push_back(value_of(step, values, slot));
    for (const Value output : outputs_) {
      // The derivative of the output by each value, from the last step to the first.
      std::vector<Complex> slopes(values.size());
      slopes[output] = 1;
      double variance = 0;
      for (std::size_t i = steps_.size(); i-- > 0;) {
        const FunctionStep& step = steps_[i];
        const Complex slope = slopes[inputs + i];
        if (slope == 0.0) continue;
        if (step.rescaled) variance += std::norm(slope) * std::pow(rounding_ / step.result_scale, 2);
        for (const auto& [a, b] : step.products) {
          slopes[a] += static_cast<double>(step.factor) * slope * values[b];
          slopes[b] += static_cast<double>(step.factor) * slope * values[a];
        }
        for (const auto& [value, factor] : step.terms) slopes[value] += slope * in_slot(factor, slot);
      }
      for (std::size_t i = 0; i < inputs; ++i) variance += std::norm(slopes[i]) * fresh * fresh;
      if (sample < sample_count) sum += variance;
      worst = std::max(worst, variance);
    }
  }
  const auto count = static_cast<double>(sample_count * outputs_.size());
  return {.mean = std::sqrt(sum / count), .worst = std::sqrt(worst)};
}

}  // namespace hemera::circuits
