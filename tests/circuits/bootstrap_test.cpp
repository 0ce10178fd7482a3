// Bootstraps of small rings, beside what went in and what the model expects.
#include "hemera/circuits/bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "circuits/bootstrap_support.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::bootstrap_tests {
namespace {

BootstrapSettings one_matrix_standard_order() {
  BootstrapSettings settings = standard_order();
  settings.slots_to_coefficients = {43};
  return settings;
}

BootstrapSettings with_arcsine() {
  BootstrapSettings settings = bootstrap_preset("n16-45");
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  return settings;
}

BootstrapSettings two_matrices() {
  BootstrapSettings settings = bootstrap_preset("n15-31");
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  return settings;
}

BootstrapSettings sparse_secret() {
  BootstrapSettings settings = small_settings();
  settings.secret.weight = 192;
  return settings;
}

// Room for more bits than an iteration has.
BootstrapSettings large_scale() {
  BootstrapSettings settings = small_settings();
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  return settings;
}

// The shape of the chain that docs/bootstrapping.md compares with other libraries' 30 primes of 59 bits.
BootstrapSettings comparison() {
  BootstrapSettings settings = bootstrap_preset("n16-59");
  settings.levels = 16;
  settings.digits = 4;
  settings.security = std::nullopt;
  return settings;
}

BootstrapSettings small_comparison() {
  BootstrapSettings settings = comparison();
  settings.degree = small_settings().degree;
  return settings;
}

struct Case {
  const char* name;
  std::function<BootstrapSettings()> settings;
  BootstrapOptions options;
};

class BootstrapTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Options, BootstrapTest,
    ::testing::Values(
        Case{"Full", small_settings, {}}, Case{"FewSlots", small_settings, {.slots = 32}},
        Case{"TwoSlots", small_settings, {.slots = 2}},
        Case{"FewRealSlots", small_settings, {.slots = 64, .real = true}},
        Case{"FewMergedSlots", small_settings, {.slots = 32, .merges_parts = true}},
        Case{"StandardOrder", standard_order, {}},
        Case{"HalfOfTheSlotsMergedStandardOrder", standard_order, {.slots = 512, .merges_parts = true}},
        Case{"OneMatrixOfMergedSlotsStandardOrder",
             one_matrix_standard_order,
             {.slots = 8, .merges_parts = true}},
        Case{"ThreeMergedIterations", large_scale, {.slots = 512, .iterations = 3, .merges_parts = true}},
        Case{"TwoMergedIterationsStandardOrder",
             standard_order,
             {.slots = 64, .iterations = 2, .merges_parts = true}},
        Case{"Arcsine", with_arcsine, {}}, Case{"TwoMatrices", two_matrices, {}},
        Case{"SparseSecret", sparse_secret, {}},
        Case{"ComparisonOfFewSlots", small_comparison, {.slots = 64}},
        Case{"TwoRealIterations", small_settings, {.slots = 64, .real = true, .iterations = 2}},
        Case{"ThreeIterations", large_scale, {.iterations = 3}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Inputs by name; structured ones have few, large coefficients.
Values input(const std::string& name, std::size_t slots, bool real) {
  Values values(slots, 0);
  if (name == "uniform") values = ckks::random_values(slots, 5);
  if (name == "ones") values.assign(slots, 1);
  if (name == "one slot") values[slots / 3] = 1;
  if (name == "alternating") {
    for (std::size_t i = 0; i < slots; ++i) values[i] = i % 2 == 0 ? 1 : -1;
  }
  if (real) {
    for (Complex& value : values) value = value.real();
  }
  return values;
}

TEST_P(BootstrapTest, HasThePrecisionOfTheModel) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(GetParam().settings());
  const Bootstrap plan(parameters, GetParam().options);
  const BootstrapSession session(parameters, plan);
  for (const char* name : {"uniform", "ones", "one slot", "alternating"}) {
    SCOPED_TRACE(name);
    const Values values = input(name, plan.slots(), plan.is_real());
    const std::size_t runs = plan.slots() < 8 ? 8 : std::clamp<std::size_t>(1024 / plan.slots(), 2, 4);
    const Precision found = averaged([&](std::size_t) { return session.bootstrapped(values); }, values, runs);
    const Precision expected =
        averaged([&](std::size_t i) { return plan.simulate(values, i); }, values, runs);
    const double scatter = plan.slots() < 8 ? 2 : 1;  // of the mean of 16 numbers
    EXPECT_NEAR(found.mean_bits, expected.mean_bits, scatter);
    EXPECT_NEAR(found.worst_bits, expected.worst_bits, scatter);
  }
}

TEST(Bootstrap, MergedPartsTakeFewerProductsAndSlotsFirstALevel) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap apart(parameters, {.slots = 64}), merged(parameters, {.slots = 64, .merges_parts = true});
  EXPECT_EQ(merged.result_level() + 1, apart.result_level());
  EXPECT_LT(merged.cost().total_work().key_products,
            0.9 * static_cast<double>(apart.cost().total_work().key_products));
  const BootstrapSession session(parameters, merged);
  const rlwe::Ciphertext out =
      session.prepared(session.evaluator, session.encrypt(ckks::random_values(64, 6)));
  EXPECT_EQ(out.meta.level, merged.result_level());
  EXPECT_NEAR(out.meta.scale / merged.ends().result_scale, 1, 0x1p-40);
  EXPECT_EQ(out.meta.slots, 64);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 1024, .merges_parts = true}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 64, .real = true, .merges_parts = true}), ParameterError);
  const rlwe::Parameters standard = parameters_for_bootstrapping(standard_order());
  const Bootstrap others(standard, {.slots = 64}), one(standard, {.slots = 64, .merges_parts = true});
  EXPECT_EQ(one.result_level(), others.result_level());
  EXPECT_LT(one.cost().total_work().key_products,
            0.85 * static_cast<double>(others.cost().total_work().key_products));
}

TEST(Bootstrap, TheComparisonHasTheModuliThatItIsComparedWith) {
  // 30 primes of 59 bits and 8 special ones of 60 in 4 digits, which 128 bits do not allow.
  const rlwe::Parameters parameters = parameters_for_bootstrapping(comparison());
  const Bootstrap plan(parameters, {.slots = 64});
  EXPECT_EQ(plan.result_level() - plan.input_level(), 16U);
  double largest = 0;
  std::size_t digits = 0;
  for (const KeyNeed& need : plan.needed_keys()) {
    largest =
        std::max(largest, arith::log2_product(need.gadget.base) + arith::log2_product(need.gadget.special));
    digits = std::max(digits, need.gadget.digits.size());
  }
  EXPECT_NEAR(largest, 2251, 30);
  EXPECT_EQ(digits, 4U);
  EXPECT_NEAR(parameters.log_modulus(parameters.levels() - 1), 1770, 45);
  BootstrapSettings secure = comparison();
  secure.security = 128;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(secure)), ParameterError);
}

TEST(Bootstrap, PrecisionIsOfAsManyValues) {
  const Values two{1, 2}, three{1, 2, 3};
  EXPECT_THROW(static_cast<void>(precision_of(two, three)), ParameterError);
  EXPECT_THROW(static_cast<void>(precision_of(three, two)), ParameterError);
  EXPECT_THROW(static_cast<void>(precision_of(two, {})), ParameterError);
  EXPECT_THROW(static_cast<void>(precision_of({}, two)), ParameterError);
  EXPECT_THROW(static_cast<void>(precision_of({}, {})), ParameterError);
  // Errors of 2^-4, 2^-6 in the imaginary part, and none, which counts as 2^-60.
  const Values found{1 + 0x1p-4, Complex(2, -0x1p-6), 3};
  const Precision precision = precision_of(found, three);
  EXPECT_DOUBLE_EQ(precision.mean_bits, (4 + 6 + 60) / 3.0);
  EXPECT_DOUBLE_EQ(precision.worst_bits, 4);
}

TEST(Bootstrap, PrecisionOfNaNsIsNaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Values expected{1, 2, 3};
  for (const Complex wrong : {Complex(nan, 0), Complex(1, nan), Complex(nan, nan)}) {
    for (std::size_t slot = 0; slot < 3; ++slot) {
      SCOPED_TRACE(slot);
      Values found{1 + 0x1p-4, 2, 3 - 0x1p-6};
      found[slot] = wrong;
      for (const Precision& precision : {precision_of(found, expected), precision_of(expected, found)}) {
        EXPECT_TRUE(std::isnan(precision.mean_bits));
        EXPECT_TRUE(std::isnan(precision.worst_bits));
      }
    }
    EXPECT_TRUE(std::isnan(precision_of(Values(3, wrong), expected).worst_bits));
  }
  const Precision infinite = precision_of(Values{1, std::numeric_limits<double>::infinity(), 3}, expected);
  EXPECT_EQ(infinite.worst_bits, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(infinite.mean_bits, -std::numeric_limits<double>::infinity());
}

TEST(Bootstrap, ParametersHaveWhatTheirSettingsSay) {
  for (const auto& order : {small_settings, standard_order, with_arcsine}) {
    BootstrapSettings settings = order();
    const auto literal = [&] { return parameters_for_bootstrapping(settings).literal(); };
    EXPECT_TRUE(literal().secret.is_uniform());
    EXPECT_EQ(literal().security, std::nullopt);
    for (const std::size_t weight : {64U, 192U}) {
      settings.secret = {.weight = weight};
      EXPECT_EQ(literal().secret, settings.secret);
    }
    settings.secret = {.deviation = 3.25};
    EXPECT_EQ(literal().secret, settings.secret);
    settings.secret = {};
    for (const std::size_t degree : {std::size_t{1} << 11, std::size_t{1} << 12}) {
      settings.degree = degree;
      EXPECT_EQ(literal().degree, degree);
    }
    settings.degree = small_settings().degree;
    for (const std::size_t special : {8U, 10U, 12U}) {
      settings.special_primes = special;
      const auto found = literal();
      EXPECT_EQ(found.special_primes.size() + found.key_primes.size(),
                std::max(special, found.special_primes.size()));
    }
    for (const std::size_t levels : {3U, 5U}) {
      settings.levels = levels;
      const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
      EXPECT_EQ(parameters.highest_user_level() - parameters.lowest_user_level(), levels);
    }
    // Too small a ring for it.
    settings.security = 128;
    EXPECT_ANY_THROW(static_cast<void>(literal()));
  }
}

TEST(Bootstrap, GoesOnAndOn) {
  // A product a time, its depth used up, and each time the error of one bootstrap alone is added.
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 16});
  const BootstrapSession session(parameters, plan);
  const Values values = ckks::random_values(plan.slots(), 7, 0.7);
  rlwe::Ciphertext x = session.encrypt(values);
  for (int i = 0; i < 20; ++i) {
    x = session.prepared(session.evaluator, x);
    ASSERT_LT(session.client.error(x, values), (i + 1) * 0x1p-20) << i;
  }
}

TEST(Bootstrap, BringsHigherOnesDownByOneRounding) {
  // Two iterations are as precise as a rounding or two.
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.iterations = 2});
  const BootstrapSession session(parameters, plan);
  const Values values = ckks::random_values(plan.slots(), 14);
  const rlwe::Ciphertext high =
      ckks::encrypt(session.client.encoder->encode(values, {}), session.client.secret);
  ASSERT_GT(high.meta.level, plan.input_level() + 10);
  const Precision found =
      precision_of(session.client.decrypt(session.prepared(session.evaluator, high)), values);
  EXPECT_GT(found.mean_bits, plan.expected_precision().mean_bits - 0.8);
}

TEST(Bootstrap, RefusesWhatDoesNotFit) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  EXPECT_THROW(Bootstrap(parameters, {.slots = 3}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 1}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = parameters.degree()}), ParameterError);
  EXPECT_THROW(Bootstrap(ckks::small_parameters(2)), ParameterError);
  EXPECT_THROW(static_cast<void>(bootstrap_preset("n16-41")), ParameterError);
  // In the standard order EvalMod takes coefficients: that of one part gives other values.
  for (const auto& settings : {standard_order(), one_matrix_standard_order()}) {
    EXPECT_THROW(Bootstrap(parameters_for_bootstrapping(settings), {.slots = 8, .real = true}),
                 ParameterError);
  }
  const Bootstrap plan(parameters, {.slots = 8});
  EXPECT_THROW(static_cast<void>(plan.generate_keys(ckks::Session(ckks::small_parameters(2)).secret)),
               MismatchError);
  EXPECT_THROW(static_cast<void>(plan.simulate(Values(4))), ParameterError);
}

TEST(Bootstrap, IterationsAddPrecision) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(large_scale());
  const Bootstrap once(parameters), twice(parameters, {.iterations = 2});
  EXPECT_EQ(twice.cost().key_bytes, once.cost().key_bytes);
  // The second adds what the first has, less the margin.
  EXPECT_GT(twice.expected_precision().worst_bits, 2 * once.expected_precision().worst_bits - 4);
  for (const std::size_t wrong : {0, 5, 4}) {  // of 4 levels; nothing more to gain by the fourth
    EXPECT_THROW(Bootstrap(parameters, {.iterations = wrong}), ParameterError);
  }
  const Bootstrap few(parameters, {.slots = 4, .iterations = 2});
  const BootstrapSession session(parameters, few);
  const Values values = ckks::random_values(3 * few.slots(), 11);
  const rlwe::Ciphertext out = session.prepared(session.evaluator, session.encrypt(values, {3}));
  EXPECT_EQ(out.meta.batch, rlwe::BatchShape{3});
  EXPECT_EQ(out.meta.level, few.result_level());
  EXPECT_NEAR(out.meta.scale / few.ends().result_scale, 1, 0x1p-40);
  EXPECT_EQ(out.meta.noise_scale_degree, 1);
  EXPECT_LT(session.client.error(out, values), 0x1p-38);
}

TEST(Bootstrap, RealIterationsDropImaginaryParts) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 16, .real = true, .iterations = 2});
  const Values values = ckks::random_values(plan.slots(), 12);
  Values real = values;
  for (Complex& value : real) value = value.real();
  EXPECT_LT(ckks::largest_difference(BootstrapSession(parameters, plan).bootstrapped(values), real), 0x1p-28);
}

TEST(Bootstrap, TakesValuesBeyondTheRangeWithLessPrecision) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters);
  const BootstrapSession session(parameters, plan);
  double before = plan.expected_precision().mean_bits;
  for (const double size : {4.0, 32.0}) {
    const Values values(plan.slots(), size);
    const double found = precision_of(session.bootstrapped(values), values).mean_bits;
    EXPECT_NEAR(found, precision_of(plan.simulate(values), values).mean_bits, 0.5);
    EXPECT_LT(found, before - 6);  // the cube of the values
    before = found;
  }
  // Half of q_0 over the scale, where the sine is back at 0.
  const Values values(plan.slots(), std::exp2(small_settings().ratio_bits - 1));
  EXPECT_LT(ckks::largest_difference(session.bootstrapped(values), Values(plan.slots(), 0)), 1);
}

TEST(Bootstrap, KeysBelowTheSecurityAskedForAreRefused) {
  BootstrapSettings settings = small_settings();
  settings.security = 128;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), ParameterError);
  for (const char* name : {"n16-40", "n16-40-light", "n16-40-precise", "n16-45", "n16-59", "n15-31", "n15-40",
                           "n15-36", "n15-34", "n15-30", "n16-exact"}) {
    SCOPED_TRACE(name);
    const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset(name));
    const Bootstrap plan(parameters, {.slots = 4});
    for (const KeyNeed& need : plan.needed_keys()) {
      EXPECT_GE(parameters.security(need.gadget), rlwe::Security::at_least_128);
    }
    EXPECT_LT(plan.failure_log2(), -128);
  }
}

}  // namespace
}  // namespace hemera::circuits::bootstrap_tests
