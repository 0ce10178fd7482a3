// Workspaces of plans are those of runs.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/workspace_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"

namespace hemera::circuits::plan_workspaces {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

TEST(PlanNumbers, WorkspacesAreThoseOfARun) {
  const rlwe::Parameters own = parameters();
  for (const std::size_t size : {2, 8, 16}) {
    for (const bool packed : {false, true}) {
      SCOPED_TRACE("matrices of " + std::to_string(size) + (packed ? ", packed" : ""));
      const MatrixProduct plan(own, size, {.packed = packed});
      expect_workspace<PreparedMatrixProduct>(own, plan, {{}, {}}, {plan.slots(), plan.slots()});
    }
  }
  for (const auto& [rows, columns, babies] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{16, 16, 16}, {16, 64, 4}, {64, 16, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const MatrixVectorProduct plan(own, rows, columns, {.baby_steps = babies});
    expect_workspace<PreparedMatrixVectorProduct>(own, plan, {{plan.diagonals()}, {}},
                                                  {plan.matrix_slots(), plan.vector_slots()});
  }
  for (const bool everywhere : {false, true}) {
    SCOPED_TRACE(everywhere ? "sum everywhere" : "sum");
    expect_workspace<PreparedSlotCircuit>(
        own, SlotCircuit::inner_sum(own, 64, {.count = 16, .stride = 2}, everywhere), {{}}, {64});
  }
}

// Two components in each limb of a level: those of the sum that is made, and of the values that are still
// needed, and what it is rescaled to. Steps of one term each, from level 6 down.
TEST(PlanNumbers, ValuesOfAFunctionCountUntilTheirLastUse) {
  const rlwe::Parameters own = parameters();
  const auto ciphertext = [&](std::size_t level) {
    return 2 * own.literal().levels[level].size() * own.degree() * 8;
  };
  const auto told = [&](std::size_t uses_of_first, bool all_outputs) {
    Function function(std::vector{Interval{}});
    std::vector<Function::Value> values;
    for (std::size_t i = 0; i < 6; ++i) {
      Function::Sum sum{.terms = {{i == 0 ? 0 : values.back(), {0.5}}}};
      if (i > 0 && i <= uses_of_first) sum.terms.push_back({values.front(), {0.25}});
      values.push_back(function.add(sum));
    }
    function.set_outputs(all_outputs ? values : std::vector{values.back()});
    return FunctionPlan(own, function).cost().workspace_bytes;
  };
  // One prime is dropped, of two components.
  const std::size_t dropped = 2 * own.degree() * 8;
  // The second step has its sum and the first's, one level below the inputs, and its result below that.
  EXPECT_EQ(told(0, false), 2 * ciphertext(5) + ciphertext(4) + dropped);
  EXPECT_EQ(told(1, false), 2 * ciphertext(5) + ciphertext(4) + dropped);
  // The first one's value stays beside the last's and the sum that is made, which get smaller.
  for (const std::size_t uses : {2, 3, 5}) {
    EXPECT_EQ(told(uses, false), ciphertext(5) + 2 * ciphertext(4) + ciphertext(3) + dropped);
  }
  std::size_t all = 0;
  for (const std::size_t level : {5, 4, 3, 2, 1}) all += ciphertext(level);
  EXPECT_EQ(told(0, true), all + ciphertext(1) + ciphertext(0) + dropped);
}

// What is bootstrapped and what the iterations before made of it stay alive: two ciphertexts.
TEST(PlanNumbers, IterationsKeepTwoCiphertextsMore) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const Bootstrap once(own, {.slots = 64}), twice(own, {.slots = 64, .iterations = 2});
  const auto& levels = own.literal().levels;
  const std::size_t limbs = levels[own.lowest_user_level()].size() + levels[own.highest_user_level()].size();
  EXPECT_EQ(twice.cost().workspace_bytes - once.cost().workspace_bytes, 2 * limbs * own.degree() * 8);
}

}  // namespace
}  // namespace hemera::circuits::plan_workspaces
