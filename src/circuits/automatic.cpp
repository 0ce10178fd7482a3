#include "hemera/circuits/automatic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/ckks/refresh.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using Value = Function::Value;

// Circuits of levels and scales that a function keeps: they hold encoded constants.
constexpr std::size_t circuits_kept = 64;
// Values between stages that are at most so much above 1 are bootstrapped as they are.
constexpr double rounding = 0x1p-10;

// The largest magnitude in each input's interval.
std::vector<double> magnitudes_of(const Function& function) {
  std::vector<double> result;
  for (const Interval& input : function.inputs()) {
    result.push_back(std::max(std::abs(input.low), std::abs(input.high)));
  }
  return result;
}

std::pair<std::size_t, double> place_of(const Ciphertext& x) {
  const rlwe::Metadata meta = x.context->scales().finished(x.meta).meta;
  return {meta.level, meta.scale};
}

// Whether both may be elements of one batch.
bool are_alike(const Ciphertext& a, const Ciphertext& b) {
  const auto of_each = [](const Ciphertext& x) {
    const rlwe::Metadata& meta = x.meta;
    return std::tuple(x.context, x.size(), meta.level, meta.scale, meta.noise_scale_degree, meta.slots,
                      meta.largest, meta.filled, meta.padding, meta.is_complex);
  };
  return of_each(a) == of_each(b);
}

// The lowest place of all inputs.
std::pair<std::size_t, double> lowest_of(std::span<const Ciphertext* const> inputs) {
  std::pair<std::size_t, double> lowest = place_of(*inputs.front());
  for (const Ciphertext* input : inputs) lowest = std::min(lowest, place_of(*input));
  return lowest;
}

// How many bootstraps a function in stages takes, whose inputs have this many levels left.
std::size_t count_bootstraps(const std::vector<FunctionStage>& stages, std::span<const std::size_t> left,
                             std::size_t levels) {
  std::size_t count = 0;
  std::map<Value, std::size_t> remaining;
  for (Value input = 0; input < left.size(); ++input) remaining[input] = left[input];
  for (const FunctionStage& stage : stages) {
    const std::size_t depth = stage.function.depth();
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const Value input : stage.inputs) {
      std::size_t& own = remaining[input];
      if (own < depth) {
        ++count;
        own = levels;
      }
      least = std::min(least, own);
    }
    for (const Value output : stage.outputs) remaining[output] = least - depth;
  }
  return count;
}

// Whether a value between stages is larger than what is bootstrapped at the lowest level.
bool has_large_values(const std::vector<FunctionStage>& stages, std::size_t inputs, double largest) {
  for (const FunctionStage& stage : stages) {
    const std::vector<double> magnitudes = magnitudes_of(stage.function);
    for (std::size_t i = 0; i < magnitudes.size(); ++i) {
      if (stage.inputs[i] >= inputs && magnitudes[i] > largest * (1 + rounding)) return true;
    }
  }
  return false;
}

void require_inputs(const Function& function, std::span<const Ciphertext* const> inputs) {
  if (inputs.size() != function.inputs().size()) {
    throw MismatchError("a function of " + std::to_string(function.inputs().size()) + " inputs was given " +
                        std::to_string(inputs.size()));
  }
  rlwe::require_each(inputs, "function");
  std::vector<double> declared;
  for (const Ciphertext* input : inputs) declared.push_back(input->meta.largest);
  function.require_in_intervals(declared);
}

}  // namespace

StagedFunction::StagedFunction(rlwe::ContextPointer context, Function function)
    : context_(std::move(context)), function_(std::move(function)) {
  rlwe::require_filled(context_, "StagedFunction");
  if (function_.outputs().empty()) throw ParameterError("a function without outputs: call set_outputs");
}

StagedFunction::Stages StagedFunction::stages(std::size_t first_levels, std::size_t levels) const {
  const std::pair key(first_levels, levels);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = stages_.find(key); found != stages_.end()) return found->second;
  }
  auto made = std::make_shared<const std::vector<FunctionStage>>(stages_of(function_, first_levels, levels));
  const std::lock_guard lock(mutex_);
  return stages_.emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const PreparedFunction> StagedFunction::circuit(const Function& stage,
                                                                const Place& place) const {
  const auto is_there = [&](const auto& entry) { return entry.first == place; };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(circuits_.begin(), circuits_.end(), is_there);
    if (found != circuits_.end()) {
      std::rotate(found, found + 1, circuits_.end());
      return circuits_.back().second;
    }
  }
  const FunctionPlan plan(context_->parameters(), stage,
                          {.level = std::get<3>(place), .scale = std::get<4>(place)});
  auto made = std::make_shared<const PreparedFunction>(context_, plan);
  const std::lock_guard lock(mutex_);
  if (std::none_of(circuits_.begin(), circuits_.end(), is_there)) {
    if (circuits_.size() == circuits_kept) circuits_.erase(circuits_.begin());
    circuits_.emplace_back(place, made);
  }
  return made;
}

AutomaticBootstraps::AutomaticBootstraps(std::shared_ptr<const PreparedBootstrap> bootstrap,
                                         rlwe::EvaluationKeys keys, rlwe::Relinearization relinearization)
    : bootstrap_(std::move(bootstrap)) {
  if (!bootstrap_) {
    throw MismatchError("automatic bootstraps: the bootstrap is null; prepare one for the context");
  }
  rlwe::require_filled(keys, "automatic bootstraps");
  rlwe::ContextPointer context = keys.context;
  bootstrap_->plan().require_parameters(*context, "automatic bootstraps");
  if (!bootstrap_->plan().joins_parts()) {
    throw ParameterError(
        "automatic bootstraps: this plan leaves real and imaginary parts side by side; call the plan "
        "instead");
  }
  if (bootstrap_->plan().is_exponential()) {
    throw ParameterError(
        "automatic bootstraps: this plan's give exponentials in the values' place; call the plan instead");
  }
  if (bootstrap_->plan().gives_sine()) {
    throw ParameterError(
        "automatic bootstraps: this plan's give a sine in the values' place; call the plan instead, or use a "
        "ratio_bits of 3 or more");
  }
  if (bootstrap_->plan().order() == BootstrapOrder::from_coefficients) {
    throw ParameterError(
        "automatic bootstraps: this plan's give coefficients in the slots' place; call the plan instead");
  }
  refresh_ = {.run = [own = bootstrap_](const ckks::Evaluator& evaluator,
                                        const Ciphertext& x) { return (*own)(evaluator, x); },
              .level = bootstrap_->plan().result_level(),
              .undeclared = std::max(1.0, bootstrap_->magnitude().value_or(1)),
              .at_lowest = bootstrap_->largest_at_input()};
  evaluator_ =
      std::make_shared<const ckks::Evaluator>(std::move(context), std::move(keys), relinearization, refresh_);
}

std::size_t AutomaticBootstraps::levels_left() const {
  return levels_from(bootstrap_->plan().result_level());
}

std::size_t AutomaticBootstraps::levels_from(std::size_t level) const {
  const std::size_t lowest = bootstrap_->plan().input_level();
  return level > lowest ? level - lowest : 0;
}

Operands AutomaticBootstraps::refreshed(std::span<const Ciphertext* const> operands, std::size_t levels,
                                        std::span<const double> magnitudes) const {
  if (!magnitudes.empty() && magnitudes.size() != operands.size()) {
    throw ParameterError(std::to_string(operands.size()) + " operands and " +
                         std::to_string(magnitudes.size()) + " magnitudes; give one for each, or none");
  }
  Operands result;
  result.bootstrapped.reserve(operands.size());  // what `each` points to stays
  std::map<const Ciphertext*, const Ciphertext*> done;
  std::vector<Waiting> waiting;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_new = done.emplace(operands[i], operands[i]).second;
    if (!is_new || !needs_refresh(*operands[i], levels)) continue;
    waiting.push_back({operands[i], magnitudes.empty() ? 1 : magnitudes[i]});
  }
  for (const std::vector<Waiting>& alike : in_batches(waiting)) {
    std::vector<Ciphertext> fresh = bootstrapped(alike, levels);
    for (std::size_t i = 0; i < alike.size(); ++i) {
      done.at(alike[i].operand) = &result.bootstrapped.emplace_back(std::move(fresh[i]));
    }
  }
  for (const Ciphertext* operand : operands) result.each.push_back(done.at(operand));
  return result;
}

bool AutomaticBootstraps::needs_refresh(const Ciphertext& x, std::size_t levels) const {
  constexpr double any_result = std::numeric_limits<double>::infinity();
  return ckks::needs_refresh(*evaluator_->context(), refresh_, x.meta, levels, any_result);
}

std::vector<std::vector<AutomaticBootstraps::Waiting>> AutomaticBootstraps::in_batches(
    std::span<const Waiting> waiting) const {
  std::vector<std::vector<Waiting>> batches;
  for (const Waiting& own : waiting) {
    const auto takes = [&](const std::vector<Waiting>& batch) {
      return bootstrap_->plan().together() > 1 && own.magnitude == batch.front().magnitude &&
             are_alike(*own.operand, *batch.front().operand);
    };
    const auto found = std::find_if(batches.begin(), batches.end(), takes);
    (found == batches.end() ? batches.emplace_back() : *found).push_back(own);
  }
  return batches;
}

std::vector<Ciphertext> AutomaticBootstraps::bootstrapped(std::span<const Waiting> alike,
                                                          std::size_t levels) const {
  std::vector<Ciphertext> result;
  if (alike.size() == 1) {
    result.push_back(*evaluator_->refreshed(*alike.front().operand, levels, alike.front().magnitude));
    return result;
  }
  std::vector<Ciphertext> rows;
  for (const Waiting& own : alike) {
    rows.push_back(own.operand->clone());
    rlwe::reshape_inplace(rows.back(), {own.operand->poly.shape().batch});
  }
  std::vector<const Ciphertext*> parts;
  for (const Ciphertext& row : rows) parts.push_back(&row);
  const auto whole = evaluator_->refreshed(rlwe::concatenate(parts), levels, alike.front().magnitude);
  std::size_t first = 0;
  for (const Waiting& own : alike) {
    const std::size_t count = own.operand->poly.shape().batch;
    rlwe::reshape_inplace(result.emplace_back(rlwe::slice(*whole, first, count)), own.operand->meta.batch);
    first += count;
  }
  return result;
}

Ciphertext AutomaticBootstraps::multiply(const Ciphertext& x, const rlwe::Plaintext& factor) const {
  const double largest = rlwe::largest_product(x.meta.largest, factor.meta.largest);
  const auto fresh = evaluator_->refreshed(x, 1, 1, largest);
  return evaluator_->multiply_plain(fresh ? *fresh : x, factor);
}

Ciphertext AutomaticBootstraps::multiply(const Ciphertext& x, const rlwe::Scalar& factor) const {
  const double real = factor.value().real();
  const bool takes_a_level = factor.value().imag() != 0 || real != std::trunc(real);
  const double largest = rlwe::largest_product(x.meta.largest, std::abs(factor.value()));
  auto fresh = takes_a_level ? evaluator_->refreshed(x, 1, 1, largest) : std::nullopt;
  Ciphertext result = fresh ? std::move(*fresh) : x.clone();
  evaluator_->multiply_scalar_inplace(result, factor);
  return result;
}

Ciphertext AutomaticBootstraps::dot(std::span<const Ciphertext* const> a,
                                    std::span<const Ciphertext* const> b) const {
  std::vector<const Ciphertext*> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  const Operands operands = refreshed(both, 1);
  const std::span<const Ciphertext* const> each(operands.each);
  return evaluator_->dot(each.first(a.size()), each.last(b.size()));
}

Ciphertext AutomaticBootstraps::apply(const PreparedLinearTransform& transform,
                                      const Ciphertext& vector) const {
  const Operands operands = refreshed(std::array{&vector}, levels_from(transform.plan().level()));
  return transform(*evaluator_, *operands.each.front());
}

Ciphertext AutomaticBootstraps::apply(const PreparedSlotCircuit& circuit, const Ciphertext& x) const {
  // Sums take no level.
  const Ends& ends = circuit.plan().ends();
  const Operands operands = refreshed(std::array{&x}, ends.depth() > 0 ? levels_from(ends.level) : 0);
  return circuit(*evaluator_, *operands.each.front());
}

Ciphertext AutomaticBootstraps::apply(const PreparedMatrixVectorProduct& product, const Ciphertext& matrix,
                                      const Ciphertext& vector) const {
  const Operands operands = refreshed(std::array{&matrix, &vector}, levels_from(product.plan().level()));
  return product(*evaluator_, *operands.each.front(), *operands.each.back());
}

Ciphertext AutomaticBootstraps::apply(const PreparedMatrixProduct& product, const Ciphertext& left,
                                      const Ciphertext& right) const {
  const Operands operands = refreshed(std::array{&left, &right}, levels_from(product.plan().level()));
  return product(*evaluator_, *operands.each.front(), *operands.each.back());
}

std::vector<Ciphertext> AutomaticBootstraps::apply(const PreparedFunction& function,
                                                   std::span<const Ciphertext* const> inputs) const {
  const FunctionPlan& plan = function.plan();
  require_inputs(plan.function(), inputs);
  const Operands operands = refreshed(inputs, levels_from(plan.level()), magnitudes_of(plan.function()));
  return function(*evaluator_, operands.each);
}

std::vector<Ciphertext> AutomaticBootstraps::apply(const StagedFunction& function,
                                                   std::span<const Ciphertext* const> inputs) const {
  const Function& whole = function.function();
  require_inputs(whole, inputs);
  if (whole.depth() > levels_left()) return in_stages(function, inputs);
  const Operands operands = refreshed(inputs, whole.depth(), magnitudes_of(whole));
  const auto [level, scale] = lowest_of(operands.each);
  return (*function.circuit(whole, {0, 0, 0, level, scale}))(*evaluator_, operands.each);
}

// Values are bootstrapped between the stages, too.
std::vector<Ciphertext> AutomaticBootstraps::in_stages(const StagedFunction& function,
                                                       std::span<const Ciphertext* const> inputs) const {
  const Function& whole = function.function();
  // Large values between stages keep a level, which divides them, unless a polynomial needs all levels.
  std::size_t levels = levels_left();
  StagedFunction::Stages stages = function.stages(levels, levels);
  if (has_large_values(*stages, inputs.size(), bootstrap_->largest_at_input())) {
    try {
      stages = function.stages(levels - 1, levels - 1);
      --levels;
    } catch (const LevelError&) {
    }
  }
  // The inputs are bootstrapped before, unless the levels that they have left save a bootstrap.
  std::vector<std::size_t> left;
  for (const Ciphertext* input : inputs) left.push_back(levels_from(place_of(*input).first));
  std::size_t first = levels;
  const std::size_t least = *std::min_element(left.begin(), left.end());
  if (least > 0) {
    const StagedFunction::Stages others = function.stages(least, levels);
    if (count_bootstraps(*others, left, levels) < count_bootstraps(*stages, left, levels)) {
      stages = others;
      first = least;
    }
  }

  std::map<Value, const Ciphertext*> values;
  for (Value input = 0; input < inputs.size(); ++input) values[input] = inputs[input];
  std::map<Value, Ciphertext> made;  // by stages and bootstraps
  const auto keep = [&](Value value, Ciphertext x) {
    values[value] = &made.insert_or_assign(value, std::move(x)).first->second;
  };
  for (std::size_t number = 0; number < stages->size(); ++number) {
    const FunctionStage& stage = (*stages)[number];
    std::vector<const Ciphertext*> given;
    for (const Value value : stage.inputs) given.push_back(values.at(value));
    Operands operands = refreshed(given, stage.function.depth(), magnitudes_of(stage.function));
    const auto [level, scale] = lowest_of(operands.each);
    const auto circuit = function.circuit(stage.function, {first, levels, number, level, scale});
    std::vector<Ciphertext> results = (*circuit)(*evaluator_, operands.each);
    // Later stages take what was bootstrapped for this one.
    for (Ciphertext& fresh : operands.bootstrapped) {
      const Ciphertext* kept = nullptr;
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (operands.each[i] != &fresh) continue;
        if (kept == nullptr)
          keep(stage.inputs[i], std::move(fresh));
        else
          values[stage.inputs[i]] = kept;
        kept = values.at(stage.inputs[i]);
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) keep(stage.outputs[i], std::move(results[i]));
  }
  std::vector<Ciphertext> outputs;
  for (const Value output : whole.outputs()) outputs.push_back(values.at(output)->clone());
  return outputs;
}

}  // namespace hemera::circuits
