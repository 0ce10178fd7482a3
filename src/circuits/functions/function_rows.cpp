#include "circuits/functions/function_rows.hpp"

#include <algorithm>

#include "circuits/coefficient.hpp"
#include "circuits/functions/lowering.hpp"

namespace hemera::circuits {
namespace {

// Products, and sums, that a batch has at most: with more it takes more memory, and hardly less time.
constexpr std::size_t most_products = 3, most_sums = 4;

bool is_batchable(const FunctionStep& step) {
  if (!step.rescaled) return !step.is_mapped();
  if (step.products.empty()) return is_lowered(step);
  return has_real_numbers(step) && is_real_number(step.constant);
}

bool is_sum_with_plaintexts(const FunctionStep& step) {
  return step.rescaled && step.products.empty() && !has_real_numbers(step);
}

bool is_sum_with_numbers(const FunctionStep& step) {
  return step.rescaled && step.products.empty() && has_real_numbers(step) && is_real_number(step.constant) &&
         !step.is_mapped() && !is_lowered(step);
}

bool has_terms_of(const FunctionStep& a, const FunctionStep& b) {
  return a.level == b.level && std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                                          [](const auto& x, const auto& y) { return x.value == y.value; });
}

// How many steps from the first one on are sums that are rescaled together.
std::size_t sums_together(std::span<const FunctionStep> steps) {
  const FunctionStep& first = steps.front();
  const bool has_plaintexts = is_sum_with_plaintexts(first);
  const auto other = std::find_if_not(steps.begin(), steps.end(), [&](const FunctionStep& step) {
    return has_plaintexts ? is_sum_with_plaintexts(step) && has_terms_of(step, first)
                          : is_sum_with_numbers(step) && step.level == first.level;
  });
  const auto count = static_cast<std::size_t>(other - steps.begin());
  return has_plaintexts ? count : std::clamp<std::size_t>(count, 1, most_sums);
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
    const std::size_t sums = first + sums_together(steps.subspan(first));
    while (row.end < sums && !is_output(row.end)) ++row.end;
    if (row.end > first + 1) {
      row.has_sums = true;
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
