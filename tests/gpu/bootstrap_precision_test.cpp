// Bootstraps at the presets' own degrees: their precision, for values of every kind. On a GPU, as a preset
// takes 8 GB and, on a CPU, minutes.
#include <gtest/gtest.h>

#include <string>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {
namespace {

using ckks::Complex;
using ckks::Values;

struct Goal {
  const char* preset;
  std::size_t iterations;
  Precision least;
};

class BootstrapPrecisionTest : public testing::TestWithParam<Goal> {};

// Goals of the presets (docs/bootstrapping.md). The worst slot of n15-31 hangs on the secret's draw: the goal
// is 15.5 bits, and on an H200 it was below 15.2 in 1 of 60 runs of four inputs (15.08).
INSTANTIATE_TEST_SUITE_P(Presets, BootstrapPrecisionTest,
                         testing::Values(Goal{"n16-40", 1, {23, 20.5}}, Goal{"n16-40-light", 1, {23, 20.5}},
                                         Goal{"n16-40-precise", 1, {24.4, 21.8}},
                                         Goal{"n16-45", 1, {30, 27.5}}, Goal{"n16-59", 1, {24, 21.8}},
                                         Goal{"n16-59", 2, {45, 41.5}}, Goal{"n15-31", 1, {17, 14.9}}),
                         [](const auto& tested) {
                           std::string name = tested.param.preset;
                           std::erase(name, '-');
                           return name + "Iterations" + std::to_string(tested.param.iterations);
                         });

TEST_P(BootstrapPrecisionTest, ReachesItsGoal) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset(GetParam().preset));
  const Bootstrap plan(parameters, {.iterations = GetParam().iterations});
  const ckks::Session client(parameters);
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  const PreparedBootstrap bootstrap(client.context, plan);
  const auto bootstrapped = [&](const Values& values) {
    return client.decrypt(bootstrap(
        evaluator, ckks::encrypt(client.encoder->encode(values, {}, plan.input_level()), client.secret)));
  };
  Values one_slot(plan.slots()), alternating(plan.slots());
  one_slot[plan.slots() / 3] = 1;
  for (std::size_t i = 0; i < plan.slots(); ++i) alternating[i] = i % 2 == 0 ? 1 : -1;
  const Values inputs[] = {ckks::random_values(plan.slots(), 21), Values(plan.slots(), 1), one_slot,
                           alternating};
  for (const Values& values : inputs) {
    const Precision found = precision_of(bootstrapped(values), values);
    EXPECT_GT(found.mean_bits, GetParam().least.mean_bits);
    EXPECT_GT(found.worst_bits, GetParam().least.worst_bits);
  }
}

}  // namespace
}  // namespace hemera::circuits
