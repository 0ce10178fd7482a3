// Bootstraps of few real values by roots of unity, compared with the values and with the model.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

BootstrapSettings few(std::size_t degree = std::size_t{1} << 11, std::size_t blocks = 64) {
  BootstrapSettings settings = bootstrap_preset("test-few");
  settings.degree = degree;
  settings.blocks = blocks;
  return settings;
}

struct Kind {
  const char* name;
  std::function<double(std::size_t, std::size_t)> value;  // of a slot, among so many
};

const std::vector<Kind>& kinds() {
  static const Values uniform = ckks::random_values(1024, 11);
  static const std::vector<Kind> all = {
      {"uniform", [](std::size_t i, std::size_t) { return uniform[i].real(); }},
      {"equal", [](std::size_t, std::size_t) { return 1.0; }},
      {"alternating", [](std::size_t i, std::size_t) { return i % 2 == 0 ? 1.0 : -1.0; }},
      {"one slot", [](std::size_t i, std::size_t) { return i == 1 ? 1.0 : 0.0; }},
      {"blocks", [](std::size_t i, std::size_t count) { return 8 * i / count % 2 == 0 ? 1.0 : -1.0; }}};
  return all;
}

Values real_parts(Values values) {
  for (Complex& value : values) value.imag(0);
  return values;
}

struct RootsOfUnityBootstrap : ::testing::Test {
  // Precision beside the values, and beside the model: a bit in the mean, 1.5 in the worst slot.
  static void compare(const BootstrapSettings& settings, const BootstrapOptions& options) {
    const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
    const Bootstrap plan(parameters, options);
    ASSERT_EQ(plan.blocks(), settings.blocks);
    const BootstrapSession session(parameters, plan);
    for (const Kind& kind : kinds()) {
      SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(options.slots) + " slots");
      Values values, wanted;
      for (std::size_t i = 0; i < plan.slots(); ++i) {
        values.emplace_back(kind.value(i, plan.slots()),
                            options.real ? 0 : -kind.value(plan.slots() - 1 - i, plan.slots()));
      }
      wanted = values;
      if (!plan.joins_parts()) {
        wanted.clear();
        for (const Complex& value : values) wanted.emplace_back(value.real());
        for (const Complex& value : values) wanted.emplace_back(value.imag());
      }
      constexpr std::size_t runs = 4;
      const auto seen = [&](const Values& found) {
        return options.real || !plan.joins_parts() ? real_parts(found) : found;
      };
      const Precision found =
          averaged([&](std::size_t) { return seen(session.bootstrapped(values)); }, wanted, runs);
      const Precision model =
          averaged([&](std::size_t run) { return seen(plan.simulate(values, run)); }, wanted, 16);
      EXPECT_NEAR(found.mean_bits, model.mean_bits, 1);
      EXPECT_NEAR(found.worst_bits, model.worst_bits, 1.5);
      EXPECT_GT(found.worst_bits, 20);
      RecordProperty(kind.name, std::to_string(found.mean_bits));
      std::printf("%s %zu: %.2f / %.2f, model %.2f / %.2f\n", kind.name, plan.slots(), found.mean_bits, found.worst_bits, model.mean_bits, model.worst_bits);
    }
  }
};

TEST_F(RootsOfUnityBootstrap, HasThePrecisionOfTheModel) {
  compare(few(), {.slots = 16, .real = true});
  compare(few(), {.slots = 4, .real = true});
}

TEST_F(RootsOfUnityBootstrap, TakesUpTo256ValuesAndOtherBlocks) {
  compare(few(std::size_t{1} << 13, 16), {.slots = 256, .real = true});
  compare(few(std::size_t{1} << 12, 32), {.slots = 64, .real = true});
}

}  // namespace
}  // namespace hemera::circuits
