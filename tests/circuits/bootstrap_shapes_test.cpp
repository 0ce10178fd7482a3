// Bootstraps by sines of other degrees, ranges and numbers of doublings.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/eval_mod_scales.hpp"
#include "circuits/bootstrap_support.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

constexpr double turn = 2 * std::numbers::pi;

BootstrapSettings with_sine(BootstrapSettings settings, const SineShape& shape) {
  settings.levels = 3;
  settings.sine_range = shape.range;
  settings.sine_degree = shape.degree;
  settings.doublings = shape.doublings;
  settings.nested_sine = shape.nested;
  settings.ephemeral_weight = shape.weight;
  return settings;
}

constexpr SineShape nested_sine{.nested = true};

BootstrapSettings arcsine_settings() {
  BootstrapSettings settings = bootstrap_preset("n16-45");
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  return settings;
}

struct Shape {
  const char* name;
  SineShape sine;
  BootstrapSettings (*settings)() = small_settings;
  BootstrapOptions options = {};
  /// Levels of EvalMod: one for y, one for each power of two in the series, one for each doubling.
  std::size_t steps;
};

class BootstrapShapes : public ::testing::TestWithParam<Shape> {
 protected:
  BootstrapSettings settings = with_sine(GetParam().settings(), GetParam().sine);
  rlwe::Parameters parameters = parameters_for_bootstrapping(settings);

  [[nodiscard]] BootstrapOptions options() const {
    BootstrapOptions result = GetParam().options;
    result.sine_range = GetParam().sine.range;
    result.sine_degree = GetParam().sine.degree;
    result.ephemeral_weight = GetParam().sine.weight;
    return result;
  }
  // Whether the series has more error than a rounding of 2^-31.
  [[nodiscard]] bool is_coarse() const {
    const EvalModSeries series =
        checked_series(GetParam().sine, std::exp2(settings.ratio_bits), parameters.degree());
    return mean_error_log2(series, GetParam().sine.weight) > -33;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Sines, BootstrapShapes,
    ::testing::Values(
        Shape{.name = "Usual", .sine = {16, 15, 3}, .steps = 8},
        Shape{.name = "LowestSeries", .sine = {12, 3, 7}, .steps = 10},
        Shape{.name = "DegreeBetween", .sine = {14, 23, 2}, .steps = 8},
        Shape{.name = "OneDoubling", .sine = {12, 31, 1}, .steps = 7},
        Shape{.name = "NoDoubling", .sine = {12, 63, 0}, .steps = 7},
        Shape{.name = "Nested", .sine = nested_sine, .steps = 8},
        Shape{.name = "NestedMergedParts",
              .sine = nested_sine,
              .options = {.slots = 64, .merges_parts = true},
              .steps = 8},
        Shape{.name = "NestedStandardOrder", .sine = nested_sine, .settings = standard_order, .steps = 8},
        Shape{.name = "RealSlots", .sine = {12, 31, 2}, .options = {.slots = 64, .real = true}, .steps = 8},
        Shape{.name = "MergedParts",
              .sine = {16, 7, 5},
              .options = {.slots = 64, .merges_parts = true},
              .steps = 9},
        Shape{
            .name = "Iterations", .sine = {16, 31, 2}, .options = {.slots = 64, .iterations = 2}, .steps = 8},
        Shape{.name = "StandardOrder", .sine = {12, 31, 2}, .settings = standard_order, .steps = 8},
        Shape{.name = "Arcsine", .sine = {12, 31, 2}, .settings = arcsine_settings, .steps = 10},
        Shape{.name = "HeavierSecret",
              .sine = {.range = 44, .degree = 31, .weight = 128},
              .options = {.slots = 64},
              .steps = 9},
        // Where the error of the series is most of all.
        Shape{.name = "CoarseSeries", .sine = {16, 7, 4}, .steps = 8}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(BootstrapShapes, HaveThePrecisionOfTheModel) {
  const Bootstrap plan(parameters, options());
  EXPECT_EQ(plan.sine_range(), GetParam().sine.range);
  EXPECT_EQ(plan.sine_degree(), GetParam().sine.degree);
  EXPECT_EQ(plan.doublings(), GetParam().sine.doublings);
  const BootstrapSession session(parameters, plan);
  Values values = ckks::random_values(plan.slots(), 5);
  if (plan.is_real()) {
    for (Complex& value : values) value.imag(0);
  }
  const std::size_t runs = std::clamp<std::size_t>(1024 / plan.slots(), 2, 4);
  const Precision found = averaged([&](std::size_t) { return session.bootstrapped(values); }, values, runs);
  const Precision expected = averaged([&](std::size_t i) { return plan.simulate(values, i); }, values, runs);
  EXPECT_NEAR(found.mean_bits, expected.mean_bits, 0.5);
  EXPECT_NEAR(found.worst_bits, expected.worst_bits, 1);
}

// Slots first, errors are at most those of the formulas: a quarter of the cubic that the sine has in place of
// its angle, (2 pi / ratio)^2 / 24 in each part; the rounding that was asked for; the series' error.
TEST_P(BootstrapShapes, HaveNoMoreErrorThanTheFormulas) {
  if (settings.order == BootstrapOrder::standard || settings.arcsine || GetParam().options.iterations != 1) {
    GTEST_SKIP() << "another formula";
  }
  const Bootstrap plan(parameters, options());
  const BootstrapSession session(parameters, plan);
  const Values values = ckks::random_values(plan.slots(), 6);
  const Values found = session.bootstrapped(values);
  double sum = 0;
  const double parts = plan.is_real() ? 1 : 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += std::norm(found[i] - (plan.is_real() ? values[i].real() : values[i]));
  }
  const double ratio = std::exp2(settings.ratio_bits);
  const double cubic = std::pow(turn / ratio, 2) / 24;
  const double rounding = ratio * std::exp2(settings.eval_mod_error);
  // SlotToCoeff and the last division, which the model has as well.
  const double others = std::exp2(-25);
  const EvalModSeries series = checked_series(GetParam().sine, ratio, parameters.degree());
  const double of_series = ratio * std::exp2(mean_error_log2(series, GetParam().sine.weight));
  const double bound = std::sqrt(
      parts * (cubic * cubic + 2 * rounding * rounding + 1.2 * of_series * of_series) + others * others);
  EXPECT_LT(std::sqrt(sum / static_cast<double>(values.size())), bound);
}

// Slots first with a large error of EvalMod: it is the one that was asked for, whatever the steps are.
TEST_P(BootstrapShapes, HaveTheRoundingThatIsAskedFor) {
  if (settings.order == BootstrapOrder::standard || settings.arcsine || is_coarse()) {
    GTEST_SKIP() << "other errors";
  }
  settings.eval_mod_error = -31;
  const rlwe::Parameters coarse = parameters_for_bootstrapping(settings);
  BootstrapOptions chosen = options();
  chosen.iterations = 1;
  const Bootstrap plan(coarse, chosen);
  const BootstrapSession session(coarse, plan);
  const Values values(plan.slots(), 0.25);
  double sum = 0;
  for (const Complex& value : session.bootstrapped(values)) sum += std::norm(value - 0.25);
  const double found = 0.5 * std::log2(sum / static_cast<double>(values.size()));
  const double parts = plan.is_real() ? 1 : 2;
  // Few slots are means of repetitions; the last step rounds at the user's scale, not at its own.
  EXPECT_NEAR(found, settings.eval_mod_error + settings.ratio_bits + 0.5 * std::log2(parts),
              plan.slots() < 1024 ? 4 : 1);
}

bool has_steps(const rlwe::Parameters& parameters, std::size_t steps) {
  std::size_t count = 0;
  for (std::size_t level = 0; level < parameters.levels(); ++level) {
    if (parameters.purpose(level) == rlwe::LevelPurpose::eval_mod) ++count;
  }
  return count == steps;
}

// The page's count of levels; the lowest of EvalMod is where it ends.
TEST_P(BootstrapShapes, TakeALevelForEachStepAndAreReadFromParameters) {
  EXPECT_TRUE(has_steps(parameters, GetParam().steps));
  // Parameters of a file are enough for the same plan, but for the range.
  runtime::ByteWriter out;
  parameters.write(out);
  const std::vector<std::byte> bytes = out.take();
  runtime::ByteReader in(bytes);
  const rlwe::Parameters loaded = rlwe::Parameters::read(in, parameters.format_version());
  const BootstrapLayout layout(loaded);
  EXPECT_EQ(layout.sine.degree, std::bit_ceil(std::max<std::size_t>(GetParam().sine.degree, 3) + 1) - 1);
  EXPECT_EQ(layout.sine.doublings, GetParam().sine.doublings);
  EXPECT_EQ(layout.sine.nested, GetParam().sine.nested);
  EXPECT_EQ(layout.constant_bits, GetParam().sine.nested ? 0 : settings.constant_bits);
  EXPECT_EQ(layout.arcsine, settings.arcsine);
  EXPECT_EQ(Bootstrap(loaded, options()).needed_keys(), Bootstrap(parameters, options()).needed_keys());
}

// --- What does not fit. ---

TEST(BootstrapShape, RefusesWhatDoesNotFit) {
  const auto refused = [](const SineShape& shape) {
    EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(with_sine(small_settings(), shape))),
                 ParameterError)
        << shape.range << ", " << shape.degree << ", " << shape.doublings;
  };
  refused({0, 15, 3});
  refused({1, 15, 3});
  refused({65, 15, 3});
  refused({16, 0, 3});
  refused({16, 128, 3});
  refused({16, 15, 11});
  // One of 2^19 bootstraps meets 10 or more.
  refused({10, 15, 3});
  // As many meet 20 or more of twice the size; weights have an end.
  refused({.range = 20, .doublings = 4, .weight = 128});
  refused({.range = 64, .doublings = 5, .weight = 1025});
  refused({.weight = 0});
  // Points near 31 integers determine 93 coefficients; near 23, 69.
  refused({16, 93, 1});
  refused({12, 69, 1});
  // Too few terms for 32 pi; and terms that cancel each other.
  refused({16, 7, 1});
  refused({16, 31, 0});
  refused({16, 63, 0});

  // Nested products have the numbers of one shape.
  refused({.range = 15, .nested = true});
  refused({.range = 17, .nested = true});
  refused({.degree = 31, .nested = true});
  refused({.degree = 7, .nested = true});
  refused({.doublings = 4, .nested = true});
  refused({.doublings = 2, .nested = true});

  BootstrapSettings settings = arcsine_settings();
  settings.nested_sine = true;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), ParameterError);
  settings = small_settings();
  settings.constant_bits = 9;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), ParameterError);
  settings.constant_bits = 61;
  EXPECT_THROW(static_cast<void>(parameters_for_bootstrapping(settings)), ParameterError);
}

TEST(BootstrapShape, ASineIsNestedByItselfWhereItFits) {
  const auto is_nested = [](const std::function<void(BootstrapSettings&)>& change) {
    BootstrapSettings settings = small_settings();
    change(settings);
    return BootstrapLayout(parameters_for_bootstrapping(settings)).sine.nested;
  };
  EXPECT_TRUE(is_nested([](auto& settings) { settings.levels = 3; }));
  EXPECT_TRUE(is_nested([](auto& settings) { settings.eval_mod_error = -39; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.eval_mod_error = -39.5; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.nested_sine = false; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.sine_degree = 14; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.sine_range = 14; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings = standard_order(); }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings = arcsine_settings(); }));
}

TEST(BootstrapShape, PlansRefuseWhatTheLevelsDoNotTake) {
  const rlwe::Parameters usual = parameters_for_bootstrapping(small_settings());
  EXPECT_THROW(Bootstrap(usual, {.slots = 4, .sine_degree = 16}), ParameterError);
  EXPECT_THROW(Bootstrap(usual, {.slots = 4, .sine_degree = 7}), ParameterError);
  EXPECT_THROW(Bootstrap(usual, {.slots = 4, .sine_range = 8}), ParameterError);
  EXPECT_THROW(Bootstrap(usual, {.slots = 4, .sine_range = 0}), ParameterError);
  EXPECT_THROW(Bootstrap(usual, {.slots = 4, .sine_range = 65}), ParameterError);
  EXPECT_EQ(Bootstrap(usual, {.slots = 4, .sine_degree = 14}).sine_degree(), 14U);
  EXPECT_EQ(Bootstrap(usual, {.slots = 4}).sine_degree(), 15U);
  EXPECT_EQ(Bootstrap(usual, {.slots = 4}).sine_range(), 16U);
  EXPECT_EQ(Bootstrap(usual, {.slots = 4}).doublings(), 3U);
  // A series of degree 31 and no doubling covers 10 integers, and no 16.
  const rlwe::Parameters few = parameters_for_bootstrapping(with_sine(small_settings(), {12, 31, 1}));
  EXPECT_NO_THROW(Bootstrap(few, {.slots = 4, .sine_range = 12}));
  const BootstrapLayout layout(few);
  EXPECT_THROW(static_cast<void>(checked_series({40, 31, 1}, layout.ratio, few.degree())), ParameterError);
}

TEST(BootstrapShape, OtherChainsAreNotMadeForBootstrapping) {
  rlwe::ParametersLiteral literal = parameters_for_bootstrapping(small_settings()).literal();
  const BootstrapLayout layout{rlwe::Parameters(literal)};
  // Any of EvalMod's scales but the ends' moved by a hundredth.
  for (std::size_t level = layout.eval_mod_end() + 1; level <= layout.eval_mod_level; ++level) {
    rlwe::ParametersLiteral moved = literal;
    moved.rescaling->scales[level].scale *= 1.01;
    EXPECT_THROW(BootstrapLayout{rlwe::Parameters(moved)}, ParameterError) << level;
  }
  // SlotToCoeff on both sides of the user's levels, and on none.
  rlwe::ParametersLiteral both = literal, none = literal;
  both.purposes[layout.result_level] = rlwe::LevelPurpose::slots_to_coefficients;
  EXPECT_THROW(BootstrapLayout{rlwe::Parameters(both)}, ParameterError);
  for (std::size_t level = 0; level < layout.input_level; ++level)
    none.purposes[level] = rlwe::LevelPurpose::other_circuit;
  EXPECT_THROW(BootstrapLayout{rlwe::Parameters(none)}, ParameterError);
}

// Computed by hand from the page's table of n16-40: T_8's step drops the constants' bits, the next one has H
// T_8, where H has twice T_8's scale; a longer series has a product by T_16, too.
TEST(SineSteps, HaveTheGainsOfTheirProducts) {
  EXPECT_EQ(sine_step_gains({16, 15, 3}, 40), (std::vector<double>{0, 0, 0, 40, 2, 0, 0, 0}));
  EXPECT_EQ(sine_step_gains({16, 8, 1}, 30), (std::vector<double>{0, 0, 0, 30, 2, 0}));
  EXPECT_EQ(sine_step_gains({16, 7, 2}, 40), (std::vector<double>{0, 0, 40, 2, 0, 0}));
  EXPECT_EQ(sine_step_gains({16, 3, 1}, 40), (std::vector<double>{0, 0, 41, 0}));
  EXPECT_EQ(sine_step_gains({16, 31, 0}, 40), (std::vector<double>{0, 0, 0, 40, 0, 3}));
  EXPECT_EQ(sine_step_gains({16, 63, 0}, 40), (std::vector<double>{0, 0, 0, 0, 40, 0, 3}));
}

TEST(SineSteps, AreFoundInTheGainsOfLevels) {
  for (const bool arcsine : {false, true}) {
    for (const std::size_t degree : {3, 7, 15, 31, 63, 127}) {
      for (const std::size_t doublings : {0, 1, 3, 6}) {
        const std::vector<double> gains = sine_step_gains({16, degree, doublings}, 37);
        std::vector<double> measured(gains.begin(), gains.end());
        // The last one is not known: its result is read at another scale.
        if (arcsine) {
          measured.push_back(1);
        } else {
          measured.pop_back();
        }
        SCOPED_TRACE(std::to_string(degree) + ", " + std::to_string(doublings));
        const auto found = find_sine(measured);
        if (!arcsine && doublings == 0 && degree <= 7) continue;  // no bit of these is left
        ASSERT_TRUE(found);
        EXPECT_EQ(found->degree, degree);
        EXPECT_EQ(found->doublings, doublings);
        EXPECT_EQ(found->constant_bits, 37);
        EXPECT_EQ(found->arcsine, arcsine);
        measured[1] += 0.01;
        EXPECT_FALSE(find_sine(measured));
      }
    }
  }
  const std::vector<double> nested = sine_step_gains(nested_sine, 0);
  for (const bool arcsine : {false, true}) {
    std::vector<double> measured(nested.begin(), nested.end() - 1);
    if (arcsine) measured.insert(measured.end(), {0, 1});
    const auto found = find_sine(measured);
    EXPECT_EQ(found && found->nested, !arcsine);
    measured[2] += 0.01;
    EXPECT_FALSE(find_sine(measured));
  }
  EXPECT_FALSE(find_sine(std::vector<double>{}));
  EXPECT_FALSE(find_sine(std::vector<double>(7, 0)));
}

// The numbers that were measured by putting errors into the steps of the clear series (the table of
// eval_mod_scales.cpp; at T_8's step those of halves count at T_8's scale there, a bit more).
TEST(SineSteps, AmplifyErrorsAsMeasured) {
  const SineShape usual;
  const std::vector<double> found =
      sine_amplification(usual, checked_series(usual, std::exp2(12), std::size_t{1} << 16));
  const std::vector<double> measured = {4.0, 7.0, 5.1, 3.1, 1.3, 1.9, 0.3, -1.2, -2.6};
  ASSERT_EQ(found.size(), measured.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], measured[i], 0.25) << i;
  // Amplification of nested products, by derivatives of the formula in NumPy.
  const std::vector<double> of_nested =
      sine_amplification(nested_sine, checked_series(nested_sine, std::exp2(12), std::size_t{1} << 16));
  const std::vector<double> wanted = {4.0, 7.07, 6.17, 8.01, 6.21, 1.88, 0.35, -1.15, -2.65};
  ASSERT_EQ(of_nested.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(of_nested[i], wanted[i], 0.02) << i;
  // v's: t = range v. The last step's: its angle. The one's before: |sin| = 2^-1/2 at half the angle.
  for (const SineShape& shape : {SineShape{12, 31, 2}, SineShape{20, 7, 5}}) {
    const std::vector<double> other = sine_amplification(shape, checked_series(shape, 4096, 65536));
    EXPECT_NEAR(other.front(), std::log2(shape.range), 1e-3);
    EXPECT_NEAR(other.back(), -std::log2(turn), 1e-9);
    EXPECT_NEAR(other[other.size() - 2], std::log2(2 * std::numbers::sqrt2 / turn), 1e-3);
  }
}

}  // namespace
}  // namespace hemera::circuits
