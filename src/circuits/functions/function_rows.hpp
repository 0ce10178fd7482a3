// The steps of a function that are taken together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"

namespace hemera::circuits {

/// Steps [first, end) of one level, taken in their order. A batch has one result for each rescaled step:
/// first those of steps that lower a value by a level, then those of sums with products, which are
/// relinearized and divided together.
struct FunctionRow {
  std::size_t first, end;
  std::size_t lowered = 0, products = 0;
  /// Whether all are sums that are rescaled together: with plaintexts, of the same values, or with numbers.
  bool has_sums = false;

  [[nodiscard]] bool is_batch() const { return lowered + products > 1; }
};

/// Whether a step is one value, unchanged, a level lower.
bool is_lowered(const FunctionStep& step);

/// All steps, in rows. The value of step i is number inputs + i. Steps that make outputs, which are numbers
/// of values, stay alone.
std::vector<FunctionRow> rows_of(std::span<const FunctionStep> steps, std::size_t inputs,
                                 std::span<const std::size_t> outputs);

}  // namespace hemera::circuits
