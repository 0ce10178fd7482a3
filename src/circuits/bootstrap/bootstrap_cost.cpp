// What a bootstrap costs, and how its keys are made to fit a limit.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/rounding_model.hpp"
#include "circuits/switch_extent.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {

void Bootstrap::tell_cost(const rlwe::Parameters& parameters) {
  const rlwe::ScalePolicy scales(parameters);
  cost_ = {.level = input_level_,
           .result_level = result_level(),
           .scale = scales.level_scale(input_level_),
           .result_scale = scales.level_scale(result_level())};
  rounding_ = division_error(parameters, slots_);
  const auto limbs = [&](std::size_t level) { return parameters.literal().levels[level].size(); };
  const std::size_t limb_bytes = parameters.degree() * sizeof(std::uint64_t);

  std::size_t most = 0;  // bytes that are alive at once
  for (const auto* row : {&to_coefficients_, &to_slots_, &join_}) {
    for (const LinearTransform& transform : *row) {
      cost_.add_operations(transform.cost());
      // The vector is held beside.
      most = std::max(most, transform.cost().workspace_bytes + 2 * limbs(transform.level()) * limb_bytes);
    }
  }

  // To the ephemeral secret and back, with one ModUp.
  const SwitchExtent down(parameters, to_ephemeral_, 0), up(parameters, from_ephemeral_, top_level_);
  down.add_switches(cost_.work[0], 1);
  up.add_switches(cost_.work[top_level_], 1);
  cost_.key_products += 2;
  cost_.mod_ups += 1;
  cost_.divisions += 2;
  most = std::max(most, (2 * up.base + 3 * up.extended) * limb_bytes);

  // The trace: in a step the sum so far and the next, the digits and what they are of. A division is that of
  // one component, but for the last.
  const SwitchExtent gathered(parameters, top_gadget_, top_level_);
  for (const auto& step : trace_) {
    Work& work = cost_.work[top_level_];
    work.mod_ups += gathered.digits * gathered.extended;
    work.key_products += step.size() * 2 * gathered.digits * gathered.extended;
    work.divisions += gathered.extended;
    cost_.key_products += step.size();
    cost_.mod_ups += 1;
    cost_.divisions += 1;
    most = std::max(most, (2 * gathered.base + (4 + gathered.digits) * gathered.extended) * limb_bytes);
  }
  if (!trace_.empty()) cost_.work[top_level_].divisions += gathered.extended;

  // A conjugate: the ciphertext, the switched one and what is switched, twice with the automorphism.
  const auto add_conjugate = [&](std::size_t level) {
    const SwitchExtent extent(parameters, rotation_gadget(parameters, level, most_special_primes), level);
    extent.add_switches(cost_.work[level], 1);
    cost_.key_products += 1;
    cost_.mod_ups += 1;
    cost_.divisions += 1;
    most = std::max(most, (7 * extent.base + 2 * extent.extended) * limb_bytes);
  };
  add_conjugate(eval_mod_level_);

  // Beside EvalMod of both parts as a batch: the slots, their conjugates and each part.
  const bool is_one = real_ || merges_parts_;
  const std::size_t parts = is_one ? 1 : 2, beside = is_one ? 2 : 4;
  const Cost eval_mod = eval_mod_->cost(parameters, parts);
  cost_.add_operations(eval_mod);
  most = std::max(most, eval_mod.workspace_bytes + beside * 2 * limbs(eval_mod_level_) * limb_bytes);

  if (iterations() > 1) {
    Cost once;
    once.add_operations(cost_);
    once.plaintext_bytes = 0;
    for (std::size_t i = 1; i < iterations(); ++i) cost_.add_operations(once);
    // Differences and sums are rescaled, the third iteration's sum and those after it twice.
    const std::size_t rescales = 3 * factors_log2_.size() - 1;
    cost_.rescales += rescales;
    cost_.work[fresh_level_].divisions += rescales * 2 * limbs(fresh_level_);
    for (const std::size_t level : {input_level_, fresh_level_}) {
      if (real_) add_conjugate(level);
    }
    // What is bootstrapped and what the iterations before made of it.
    most += 2 * (limbs(input_level_) + limbs(fresh_level_)) * limb_bytes;
  }
  cost_.workspace_bytes = most;
  cost_.key_bytes = key_bytes(parameters.degree(), needed_keys_);
}

// All sets of matrices that may be taken step by step: there are few.
void Bootstrap::fit_keys(const rlwe::Parameters& parameters, std::size_t limit) {
  if (cost_.key_bytes <= limit) return;
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
  for (const LinearTransform& matrix : all_keys) {
    few_keys.emplace_back(parameters, matrix.diagonals(), matrix.slots(),
                          LinearTransformOptions{
                              .level = matrix.level(),
                              .gadget = rotation_gadget(parameters, matrix.level(), most_special_primes),
                              .fewest_keys = true,
                          });
  }
  const auto is_one_of = [&](const KeyNeed& need, const std::vector<KeyNeed>& needs) {
    return std::find(needs.begin(), needs.end(), need) != needs.end();
  };
  // In words of memory traffic: transforms count thrice.
  const auto work_of = [](const LinearTransform& matrix) {
    const Work work = matrix.cost().total_work();
    return work.key_products + 3 * (work.mod_ups + work.divisions);
  };
  // What is needed whatever the matrices are.
  std::vector<KeyNeed> others = trace_needs(parameters);
  for (const KeyNeed& need : needed_keys_) {
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
    const std::size_t bytes = circuits::key_bytes(parameters.degree(), needs);
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
  tell_needs(parameters);
}

ExpectedError Bootstrap::error_from(double input_error) const {
  const std::vector<std::complex<double>> values = uniform_values();
  const std::vector<std::complex<double>> found = simulate(values);
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < slots_; ++i) {
    const double squared = std::norm(found[i] - values[i]);
    sum += squared;
    largest = std::max(largest, squared);
  }
  const double own = input_error * input_error;
  return {.mean = std::sqrt(sum / static_cast<double>(slots_) + own), .worst = std::sqrt(largest + own)};
}

}  // namespace hemera::circuits
