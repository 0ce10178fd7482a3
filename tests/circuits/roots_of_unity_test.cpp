// Bootstraps of few real values by roots of unity, compared with the values and with the model.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::roots_of_unity_tests {
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
    // Bits of an error vary by 1.6: few slots take more runs, and two those kinds that differ there.
    const bool is_pair = plan.slots() == 2;
    const std::size_t runs = plan.slots() <= 4 ? 16 : plan.slots() <= 16 ? 4 : 1;
    for (const Kind& kind : kinds()) {
      if (is_pair && kind.name != std::string("uniform") && kind.name != std::string("one slot")) continue;
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
      const auto seen = [&](const Values& found) {
        return options.real || !plan.joins_parts() ? real_parts(found) : found;
      };
      const Precision found =
          averaged([&](std::size_t) { return seen(session.bootstrapped(values)); }, wanted, runs);
      const Precision model =
          averaged([&](std::size_t run) { return seen(plan.simulate(values, run)); }, wanted, 4 * runs);
      EXPECT_NEAR(found.mean_bits, model.mean_bits, 1);
      EXPECT_NEAR(found.worst_bits, model.worst_bits, 1.5);
      EXPECT_GT(found.worst_bits, 20);
    }
  }
};

TEST_F(RootsOfUnityBootstrap, HasThePrecisionOfTheModel) {
  compare(few(), {.slots = 4, .real = true});
  compare(few(std::size_t{1} << 12, 32), {.slots = 64, .real = true});
  // A block has fewer coefficients than there are places for them.
  compare(few(std::size_t{1} << 11, 256), {.slots = 2, .real = true});
  compare(few(), {.slots = 8, .merges_parts = true, .joins_parts = false});
  compare(few(), {.slots = 8, .merges_parts = true});
  compare(few(), {.slots = 8});
}

// Numbers beyond the period have them, too, up to the error of SlotToCoeff, which is relative.
TEST_F(RootsOfUnityBootstrap, GivesExponentials) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset("test-exact-few"));
  EXPECT_THROW(Bootstrap(parameters, {.slots = 8}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 8, .merges_parts = true}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 8, .real = true, .iterations = 2}), ParameterError);
  for (const std::size_t slots : {2, 16}) {
    const Bootstrap plan(parameters, {.slots = slots, .real = true});
    EXPECT_EQ(plan.blocks(), 64U);
    EXPECT_TRUE(plan.is_exponential());
    const BootstrapSession session(parameters, plan);
    for (const double largest : {255.0, 2000.0}) {
      SCOPED_TRACE(std::to_string(slots) + " slots up to " + std::to_string(largest));
      double found = 0, model = 0;
      for (std::size_t run = 0; run < 16; ++run) {
        Values values = real_parts(ckks::random_values(slots, 40 + run));
        for (Complex& value : values) value = std::round(largest * value.real());
        const Values out = session.bootstrapped(values), simulated = plan.simulate(values, run);
        for (std::size_t i = 0; i < slots; ++i) {
          const Complex wanted = std::polar(1.0, 2 * std::numbers::pi * values[i].real() / 256);
          found += std::norm(out[i] - wanted);
          model += std::norm(simulated[i] - wanted);
        }
      }
      EXPECT_LT(found / static_cast<double>(16 * slots), 0x1p-48);
      EXPECT_NEAR(0.5 * std::log2(found / model), 0, 0.75);
    }
  }
}

TEST_F(RootsOfUnityBootstrap, TakesOtherFields) {
  BootstrapSettings settings = few();
  settings.levels = 2;
  settings.slots_to_coefficients = {30, 30};
  settings.secret.weight = 192;
  compare(settings, {.slots = 16, .real = true});
  settings = few();
  settings.ratio_bits = 11;
  settings.eval_mod_error = -35;
  compare(settings, {.slots = 16, .real = true});
  // Levels of more bits than q_0 has.
  settings = bootstrap_preset("n16-59");
  settings.degree = std::size_t{1} << 11;
  settings.security = std::nullopt;
  settings.blocks = 64;
  settings.levels = 2;
  settings.last_bits = 45;
  settings.slots_to_coefficients = {53};
  settings.coefficients_to_slots = {48};
  compare(settings, {.slots = 8, .merges_parts = true});
}

TEST_F(RootsOfUnityBootstrap, ItsSettingSaysWhatProductsAdd) {
  BootstrapSettings settings = few();
  settings.eval_mod_error = -31;  // of which everything else is a small part
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
  const Bootstrap plan(parameters, {.slots = 16, .real = true});  // as many as fill the slots
  const BootstrapSession session(parameters, plan);
  const Values zeros(16, 0);
  double sum = 0;
  for (std::size_t run = 0; run < 8; ++run) {
    for (const Complex& value : session.bootstrapped(zeros)) sum += value.real() * value.real() / (8 * 16);
  }
  EXPECT_NEAR(0.5 * std::log2(sum) - std::log2(plan.ratio()), -31, 0.5);
}

struct Sixteen {
  rlwe::Parameters parameters = parameters_for_bootstrapping(few());
  Bootstrap plan{parameters, {.slots = 16, .real = true}};
};

TEST_F(RootsOfUnityBootstrap, HasNoRangeAndFindsNoMatrixAfterTheRaise) {
  const Sixteen own;
  EXPECT_EQ(own.plan.failure_log2(), -HUGE_VAL);
  EXPECT_EQ(own.plan.sine_range(), 0);
  EXPECT_EQ(own.plan.slots_to_coefficients().size(), 1);
  EXPECT_TRUE(own.plan.coefficients_to_slots().empty());
  // log2 64 products, a sum, and SlotToCoeff.
  EXPECT_EQ(own.parameters.levels(), 1 + 1 + 4 + 1 + 6);
}

TEST_F(RootsOfUnityBootstrap, EachElementOfABatchIsItsOwn) {
  const Sixteen own;
  const BootstrapSession session(own.parameters, own.plan);
  const Values values = real_parts(ckks::random_values(3 * 16, 3));
  const rlwe::Ciphertext out = session.prepared(session.evaluator, session.encrypt(values, {3}));
  EXPECT_EQ(out.meta.batch, rlwe::BatchShape{3});
  EXPECT_EQ(out.meta.level, own.plan.result_level());
  EXPECT_GT(precision_of(real_parts(session.client.decrypt(out)), values).worst_bits, 20);
}

// Values up to the magnitude, at the lowest level and above it; products of results, and a second bootstrap.
TEST_F(RootsOfUnityBootstrap, LargerValuesAndSecondBootstraps) {
  const Sixteen own;
  const BootstrapSession session(own.parameters, own.plan, 3);
  Values values = real_parts(ckks::random_values(16, 3));
  for (Complex& value : values) value *= 3;
  const rlwe::Ciphertext once = session.prepared(session.evaluator, session.encrypt(values));
  EXPECT_GT(precision_of(real_parts(session.client.decrypt(once)), values).worst_bits, 19.5);
  const rlwe::Ciphertext twice = session.prepared(session.evaluator, once);
  EXPECT_GT(precision_of(real_parts(session.client.decrypt(twice)), values).worst_bits, 19);
  const rlwe::Ciphertext square = session.evaluator.multiply(once, once);
  Values squares = values;
  for (Complex& value : squares) value *= value;
  EXPECT_GT(precision_of(real_parts(session.client.decrypt(square)), squares).worst_bits, 15);
}

TEST_F(RootsOfUnityBootstrap, IterationsAddBits) {
  BootstrapSettings settings = few();
  settings.scale_bits = 55;
  settings.slots_to_coefficients = {57};
  settings.ratio_bits = 12.5;
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
  const Bootstrap plan(parameters, {.slots = 16, .real = true, .iterations = 2});
  const BootstrapSession session(parameters, plan);
  const Values values = real_parts(ckks::random_values(16, 9));
  const Precision found = precision_of(real_parts(session.bootstrapped(values)), values);
  EXPECT_GT(found.worst_bits, 38);
}

TEST_F(RootsOfUnityBootstrap, MistakesAreNamed) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(few());
  for (const BootstrapOptions& options :
       std::initializer_list<BootstrapOptions>{{.slots = 16},
                                               {.slots = 32, .real = true},
                                               {.slots = 16, .merges_parts = true},
                                               {.slots = 8, .real = true, .together = 2},
                                               {.slots = 8, .real = true, .sine_degree = 15}}) {
    EXPECT_THROW(Bootstrap(parameters, options), ParameterError);
  }
  const auto refused = [](const std::function<void(BootstrapSettings&)>& change) {
    BootstrapSettings settings = few();
    change(settings);
    EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), ParameterError);
  };
  refused([](BootstrapSettings& settings) { settings.blocks = 48; });
  refused([](BootstrapSettings& settings) { settings.blocks = 2; });
  refused([](BootstrapSettings& settings) { settings.blocks = 2048; });
  refused([](BootstrapSettings& settings) { settings.coefficients_to_slots = {45, 45}; });
  refused([](BootstrapSettings& settings) { settings.order = BootstrapOrder::standard; });
  refused([](BootstrapSettings& settings) { settings.last_bits = 51; });
  const Sixteen own;
  const auto context = rlwe::Context::make(own.parameters);
  const std::vector<std::shared_ptr<const rlwe::Context>> members{context, context};
  const rlwe::ForMembers each = [](std::size_t count, const auto& work) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  };
  EXPECT_THROW(SharedBootstrap(members, own.plan, {}, each), ParameterError);
}

// The least secure block secret that has an estimate: (64, 2^14, 2^95).
TEST_F(RootsOfUnityBootstrap, SecretsWithoutAnEstimateAreRefused) {
  BootstrapSettings settings = bootstrap_preset("n16-40-few");
  EXPECT_NO_THROW(static_cast<void>(parameters_for_bootstrapping(settings)));
  settings.last_bits = 46;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), SecurityError);
  settings.last_bits = 45;
  settings.blocks = 32;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), SecurityError);
}

}  // namespace
}  // namespace hemera::circuits::roots_of_unity_tests
