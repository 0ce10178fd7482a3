// The model of bootstraps of large values, beside encrypted ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "circuits/bootstrap_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

struct Large {
  const char* name;
  BootstrapSettings (*settings)();
  BootstrapOptions options;
  double magnitude;
};

class BootstrapMagnitudes : public ::testing::TestWithParam<Large> {};

BootstrapSettings few_levels() {
  BootstrapSettings settings = small_settings();
  settings.levels = 3;
  return settings;
}

INSTANTIATE_TEST_SUITE_P(
    Values, BootstrapMagnitudes,
    ::testing::Values(Large{"Small", few_levels, {}, 0.5}, Large{"Largest", few_levels, {}, 32000},
                      Large{"Real", few_levels, {.slots = 64, .real = true}, 1000},
                      Large{"Merged", few_levels, {.slots = 64, .merges_parts = true}, 1000},
                      Large{"Iterations", few_levels, {.slots = 256, .iterations = 2}, 1000},
                      Large{"StandardOrder", standard_order, {}, 100},
                      Large{"StandardOrderIterations", standard_order, {.slots = 64, .iterations = 2}, 1000}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(BootstrapMagnitudes, HaveThePrecisionOfTheModel) {
  const auto& [name, settings, options, magnitude] = GetParam();
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings());
  const Bootstrap plan(parameters, options);
  const BootstrapSession session(parameters, plan, magnitude);
  Values values = ckks::random_values(plan.slots(), 7, magnitude);
  if (plan.is_real()) {
    for (Complex& value : values) value.imag(0);
  }
  // In the standard order they are divided on their way from the level above.
  const std::size_t level = plan.input_level() + (plan.order() == BootstrapOrder::standard ? 1 : 0);
  const Precision found = averaged(
      [&](std::size_t) {
        const rlwe::Ciphertext in =
            ckks::encrypt(session.client.encoder->encode(values, {}, level), session.client.secret);
        return session.client.decrypt(session.prepared(session.evaluator, in));
      },
      values, 4);
  const Precision expected =
      averaged([&](std::size_t i) { return plan.simulate(values, i, magnitude); }, values, 4);
  EXPECT_NEAR(found.mean_bits, expected.mean_bits, 1);
  EXPECT_NEAR(found.worst_bits, expected.worst_bits, 1);
  const Precision uniform = plan.expected_precision(magnitude);
  EXPECT_NEAR(uniform.mean_bits, expected.mean_bits, 0.6);
}

// The division is exact but for SlotToCoeff's part, and the error grows by the whole number that divides.
TEST(BootstrapMagnitude, ErrorsGrowByTheWholeNumberAbove) {
  const rlwe::Parameters standard = parameters_for_bootstrapping(standard_order());
  const Bootstrap plan(standard, {.slots = 64});
  const Values values = ckks::random_values(64, 8);
  const Values once = plan.simulate(values, 3);
  Values large = values;
  for (Complex& value : large) value *= 128;
  Values expected = once;
  for (Complex& value : expected) value *= 128;
  EXPECT_LT(ckks::largest_difference(plan.simulate(large, 3, 128), expected), 1e-12);
  EXPECT_LT(ckks::largest_difference(plan.simulate(large, 3, 127.5), expected), 1e-12);

  const Bootstrap first(parameters_for_bootstrapping(few_levels()));
  const double one = first.expected_precision().mean_bits;
  // Nothing is divided by less than 1.
  EXPECT_EQ(first.simulate(Values(1024, 0.25), 3, 0.25), first.simulate(Values(1024, 0.25), 3));
  for (const double magnitude : {8.0, 1000.0}) {
    // Up to log2(F) / 3 bits are lost of SlotToCoeff's own precision.
    const double lost = one - first.expected_precision(magnitude).mean_bits;
    EXPECT_GT(lost, std::log2(magnitude) - 0.1);
    EXPECT_LT(lost, std::log2(magnitude) * 4 / 3);
  }
}

TEST(BootstrapMagnitude, ModelRefusesWhatBindingRefuses) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(few_levels());
  const Bootstrap plan(parameters, {.slots = 8});
  for (const double magnitude :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(plan.simulate(Values(8), 0, magnitude)), ParameterError);
    EXPECT_THROW(static_cast<void>(plan.expected_precision(magnitude)), ParameterError);
  }
  EXPECT_NO_THROW(static_cast<void>(plan.expected_precision(32768)));
  EXPECT_THROW(static_cast<void>(plan.expected_precision(32769)), RangeError);
  EXPECT_THROW(static_cast<void>(plan.simulate(Values(8), 0, 1e6)), RangeError);
  const Bootstrap standard(parameters_for_bootstrapping(standard_order()), {.slots = 8});
  EXPECT_NO_THROW(static_cast<void>(standard.expected_precision(1e6)));
}

}  // namespace
}  // namespace hemera::circuits
