// From functions to steps at levels: which products are taken where, and with which scales.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/rlwe/scale_policy.hpp"

namespace hemera::circuits {

/// Whether all terms of a step are multiples by real numbers, which need no plaintexts.
bool has_real_numbers(const FunctionStep& step);

/// The cost of a key switch, or of a pass over a ciphertext, at each level, in words of memory traffic.
class StepCosts {
 public:
  explicit StepCosts(const rlwe::Parameters& parameters);
  [[nodiscard]] double of(const FunctionStep& step) const;

 private:
  std::vector<double> limbs_, switches_;  // by level
};

/// Steps, and the level and scale of each value.
class Lowering {
 public:
  /// The arguments must outlive this. `drifts`: FunctionPlanOptions::results_drift; `doubles_by_scale`: the
  /// option of that name.
  Lowering(const rlwe::ScalePolicy& scales, const StepCosts& costs, bool drifts, bool doubles_by_scale)
      : scales_(&scales), costs_(&costs), drifts_(drifts), doubles_by_scale_(doubles_by_scale) {}

  Function::Value add_input(std::size_t level, double scale);
  /// Value of a sum. Terms have as many levels to go as the products, or more. ScaleError where its products
  /// do not come to one scale.
  Function::Value add(const Function::Sum& sum);
  /// Values of polynomials of x, at exactly the scales of their level.
  std::vector<Function::Value> add(Function::Value x, const Polynomial& polynomial);

  [[nodiscard]] const rlwe::PlainOperand& at(Function::Value value) const { return values_[value]; }
  [[nodiscard]] const std::vector<FunctionStep>& steps() const { return steps_; }

 private:
  class Splitting;

  bool fits_by_leaves(const Function::Sum& sum, std::size_t level);
  /// Brings the products of a sum to one scale where factors differ from their level's.
  void match(const std::vector<Function::Product>& products, std::size_t level);
  [[nodiscard]] bool is_adjustable(Function::Value value, std::ptrdiff_t takers) const;
  void adjust(Function::Value value, double ratio);
  /// The scale of a value after limbs are dropped.
  [[nodiscard]] double scale_at(Function::Value value, std::size_t level) const;
  [[nodiscard]] double divisor(std::size_t level) const { return scales_->policy().scales[level].divisor; }
  [[nodiscard]] double cost_from(std::size_t first) const;
  /// Adds a rescaled step; its level and scale are given.
  Function::Value add_step(FunctionStep step);
  /// The same for one that is not rescaled.
  Function::Value add_unrescaled(FunctionStep step);
  /// A value at a level below, of exactly the level's scale there; at its own as it is.
  Function::Value lowered(Function::Value value, std::size_t level);
  /// factor x + shift without a level.
  Function::Value mapped(Function::Value x, const AffineMap& map);
  /// A sum with fraction_bits.
  Function::Value unrescaled(const Function::Sum& sum);

  const rlwe::ScalePolicy* scales_;
  const StepCosts* costs_;
  bool drifts_, doubles_by_scale_;
  std::vector<rlwe::PlainOperand> values_;
  std::vector<FunctionStep> steps_;
};

}  // namespace hemera::circuits
