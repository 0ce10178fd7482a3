#include "circuits/functions/function_rows.hpp"

#include <algorithm>

#include "circuits/coefficient.hpp"
#include "circuits/functions/lowering.hpp"

namespace hemera::circuits {
namespace {

// Products that a batch has at most: with more it takes more memory, and hardly less time.
constexpr std::size_t most_products = 3;

bool is_batchable(const FunctionStep& step) {
  if (!step.rescaled) return !step.is_mapped();
  if (step.products.empty()) return is_lowered(step);
  return has_real_numbers(step) && is_real_number(step.constant);
}

bool is_sum_with_plaintexts(const FunctionStep& step) {
  return step.rescaled && step.products.empty() && !has_real_numbers(step);
}

bool has_terms_of(const FunctionStep& a, const FunctionStep& b) {
  return a.level == b.level && std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                                          [](const auto& x, const auto& y) { return x.value == y.value; });
}

}  // namespace

bool is_lowered(const FunctionStep& step) {
  return step.rescaled && step.products.empty() && step.terms.size() == 1 && is_zero(step.constant) &&
         is_real_number(step.terms.front().factor) && step.terms.front().factor.front() == 1.0;
}

std::vector<FunctionRow> rows_of(std::span<const FunctionStep> steps, std::size_t inputs,
                                 std::span<const std::size_t> outputs) {
  std::vector<FunctionRow> rows;
  const auto is_output = [&](std::size_t step) {
    return std::find(outputs.begin(), outputs.end(), inputs + step) != outputs.end();
  };
  for (std::size_t first = 0; first < steps.size(); first = rows.back().end) {
    FunctionRow row{.first = first, .end = first};
    while (row.end < steps.size() && !is_output(row.end) && is_sum_with_plaintexts(steps[row.end]) &&
           has_terms_of(steps[row.end], steps[first])) {
      ++row.end;
    }
    if (row.end > first + 1) {
      row.shares_terms = true;
      rows.push_back(row);
      continue;
    }
    row.end = first;
    for (; row.end < steps.size() && row.products < most_products; ++row.end) {
      const FunctionStep& step = steps[row.end];
      if (is_output(row.end) || step.level != steps[first].level || !is_batchable(step)) break;
      if (step.rescaled) ++(step.products.empty() ? row.lowered : row.products);
    }
    rows.push_back(row.is_batch() ? row : FunctionRow{.first = first, .end = first + 1});
  }
  return rows;
}

}  // namespace hemera::circuits
