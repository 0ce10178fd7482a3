#include <algorithm>
#include <array>

#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/eval_mod_scales.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/switch_extent.hpp"

namespace hemera::circuits {
namespace {

// Products that are relinearized together in each step: y, T_2, T_3 and T_4, T_8 and both halves of the
// series, their join, the doublings, and those of the arcsine.
constexpr std::array<std::size_t, eval_mod_steps + arcsine_steps> products_of_step = {1, 1, 2, 3, 1,
                                                                                      1, 1, 1, 1, 1};
// Ciphertexts that a step brings down to its level by a division: T_1, then T_1 and T_2.
constexpr std::array<std::size_t, 3> lowered_in_step = {0, 1, 2};
// Ciphertexts that a step leaves, which stay until the end but for the joined series and its doublings.
constexpr std::array<std::size_t, 4> results_of_step = {1, 2, 4, 3};

}  // namespace

Cost EvalMod::cost(const rlwe::Parameters& parameters, std::size_t batch) const {
  Cost cost;
  std::size_t held = 0;  // limbs of results so far, of one ciphertext of the batch
  std::size_t most = 0;
  for (std::size_t step = 0; step < product_levels_.size(); ++step) {
    const std::size_t level = product_levels_[step], count = products_of_step[step];
    const SwitchExtent extent(parameters, product_gadget(parameters, level, most_special_primes), level);
    // The last step of two parts joins them: one sum of two products.
    const bool joins = batch == 2 && step + 1 == product_levels_.size();
    const std::size_t switches = joins ? 1 : batch * count;
    const bool sine_lowered = arcsine_ && step + 2 == product_levels_.size();
    const std::size_t lowered =
        batch * ((step < lowered_in_step.size() ? lowered_in_step[step] : 0) + (sine_lowered ? 1 : 0));
    extent.add_switches(cost.work[level], switches);
    cost.work[level].products += batch * count * 3 * extent.base;
    cost.work[level].divisions += lowered * 2 * extent.base;
    cost.products += batch * count;
    cost.key_products += switches;
    cost.rescales += lowered;
    const std::size_t below = parameters.literal().levels[level - 1].size();
    const bool stays = step < results_of_step.size();
    const std::size_t result = 2 * below * (stays ? results_of_step[step] : 1);
    // The input or a part of the series; products, their sums over Q u P and P times what is added.
    const std::size_t division = 2 * (extent.extended - below + 1);
    const std::size_t used = 2 * extent.base + count * (5 * extent.base + 2 * extent.extended + division);
    most = std::max(most, held + result + used);
    if (stays) held += result;
  }
  cost.mod_ups = cost.divisions = cost.key_products;
  cost.workspace_bytes = batch * most * parameters.degree() * sizeof(std::uint64_t);
  return cost;
}

}  // namespace hemera::circuits
