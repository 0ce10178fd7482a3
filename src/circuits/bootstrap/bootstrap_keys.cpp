// The keys of a bootstrap within a limit of their memory.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/bootstrap_matrices.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {

// All sets of matrices that may be taken step by step: there are few.
void Bootstrap::fit_keys(std::size_t limit) {
  if (cost().key_bytes <= limit) return;
  std::vector<LinearTransform*> matrices;
  for (auto* row : {&to_coefficients_, &to_slots_}) {
    for (LinearTransform& transform : *row) matrices.push_back(&transform);
  }
  const std::vector<LinearTransform> all_keys = [&] {
    std::vector<LinearTransform> copies;
    for (const LinearTransform* matrix : matrices) copies.push_back(*matrix);
    return copies;
  }();
  std::vector<LinearTransform> few_keys;
  for (const LinearTransform& matrix : all_keys) few_keys.push_back(by_keys(matrix, {.hoisted = 1}));
  const auto is_one_of = [&](const KeyNeed& need, const std::vector<KeyNeed>& needs) {
    return std::find(needs.begin(), needs.end(), need) != needs.end();
  };
  // The work in words of memory traffic: transforms count thrice.
  const auto work_of = [](const LinearTransform& matrix) {
    const Work work = matrix.cost().total_work();
    return work.key_products + 3 * (work.mod_ups + work.divisions);
  };
  // The keys that are needed whatever the matrices are.
  std::vector<KeyNeed> others;
  for (const auto& step : trace_) {
    for (const std::size_t rotation : step) {
      const auto element = parameters().galois_element(static_cast<std::int64_t>(rotation));
      others.push_back({rlwe::KeyRole::galois(element), top_gadget_});
    }
  }
  for (const KeyNeed& need : needed_keys()) {
    const bool is_of_a_matrix = std::any_of(all_keys.begin(), all_keys.end(), [&](const auto& matrix) {
      return is_one_of(need, matrix.needed_keys());
    });
    if (!is_of_a_matrix && !is_one_of(need, others)) others.push_back(need);
  }

  std::size_t least = std::numeric_limits<std::size_t>::max(), least_traffic = least;
  std::optional<std::size_t> best;
  for (std::size_t set = 1; set < std::size_t{1} << all_keys.size(); ++set) {
    std::vector<KeyNeed> needs = others;
    std::size_t traffic = 0;
    for (std::size_t i = 0; i < all_keys.size(); ++i) {
      const LinearTransform& matrix = (set >> i & 1) != 0 ? few_keys[i] : all_keys[i];
      traffic += work_of(matrix);
      for (const KeyNeed& need : matrix.needed_keys()) {
        if (!is_one_of(need, needs)) needs.push_back(need);
      }
    }
    const std::size_t bytes = circuits::key_bytes(parameters().degree(), needs);
    least = std::min(least, bytes);
    if (bytes > limit || traffic >= least_traffic) continue;
    least_traffic = traffic;
    best = set;
  }
  if (!best) {
    throw OutOfMemoryError("the keys of a bootstrap of " + std::to_string(slots_) + " slots take at least " +
                           std::to_string(least) + " bytes, more than their limit of " +
                           std::to_string(limit) + "; allow for more, or use fewer slots");
  }
  for (std::size_t i = 0; i < all_keys.size(); ++i) {
    if ((*best >> i & 1) != 0) *matrices[i] = std::move(few_keys[i]);
  }
  count_again();
}

}  // namespace hemera::circuits
