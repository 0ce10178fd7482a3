// What plans tell of their precision, beside encrypted bootstraps of every kind of input, large values too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/automatic.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::bootstrap_errors_tests {
namespace {

// Values up to 1 by name; all but the uniform ones are structured.
const std::vector<std::string> kinds_of_input = {"uniform", "ones", "one slot"};

Values real_input(const std::string& kind, std::size_t slots) {
  Values values(slots, 0);
  if (kind == "uniform") values = ckks::random_values(slots, 7);
  for (std::size_t i = 0; i < slots; ++i) {
    if (kind == "uniform") values[i] = values[i].real();
    if (kind == "ones" || (kind == "one slot" && i == slots / 3)) values[i] = 1;
  }
  return values;
}

Values real_parts(Values values) {
  for (Complex& value : values) value.imag(0);
  return values;
}

struct SmallRing {
  const char* preset;
  std::size_t slots;
};

BootstrapSettings settings_of(const SmallRing& ring) {
  BootstrapSettings settings = bootstrap_preset(ring.preset);
  settings.degree = 2048;
  settings.security.reset();
  return settings;
}

class FewRealSlots : public ::testing::TestWithParam<SmallRing> {};

INSTANTIATE_TEST_SUITE_P(Presets, FewRealSlots,
                         ::testing::Values(SmallRing{"n15-40", 64}, SmallRing{"n15-30", 256}),
                         [](const auto& tested) { return "Scale" + std::string(tested.param.preset + 4); });

// The model of each kind, and the one number that a plan tells, which no kind is below.
TEST_P(FewRealSlots, HaveThePrecisionThatIsExpectedWhateverTheInput) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings_of(GetParam()));
  const Bootstrap plan(parameters, {.slots = GetParam().slots, .real = true});
  const BootstrapSession session(parameters, plan);
  const Precision expected = plan.expected_precision();
  Precision lowest{.mean_bits = std::numeric_limits<double>::infinity(),
                   .worst_bits = std::numeric_limits<double>::infinity()};
  for (const std::string& kind : kinds_of_input) {
    SCOPED_TRACE(kind);
    const Values values = real_input(kind, plan.slots());
    constexpr std::size_t runs = 6;
    const Precision found =
        averaged([&](std::size_t) { return real_parts(session.bootstrapped(values)); }, values, runs);
    const Precision model =
        averaged([&](std::size_t i) { return real_parts(plan.simulate(values, i)); }, values, runs);
    EXPECT_NEAR(found.mean_bits, model.mean_bits, 1);
    EXPECT_NEAR(found.worst_bits, model.worst_bits, 1.5);
    EXPECT_GT(found.mean_bits, expected.mean_bits - 0.5);
    EXPECT_GT(found.worst_bits, expected.worst_bits - 1);
    lowest.mean_bits = std::min(lowest.mean_bits, found.mean_bits);
    lowest.worst_bits = std::min(lowest.worst_bits, found.worst_bits);
  }
  EXPECT_NEAR(lowest.mean_bits, expected.mean_bits, 0.5);
  EXPECT_NEAR(lowest.worst_bits, expected.worst_bits, 1);
}

// Merged parts that are not joined: (a, b) of a + i b, a level higher and no worse than the model.
TEST(PartsSideBySide, AreThePartsAtTheHighestLevel) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings_of({"n15-36", 32}));
  const Bootstrap plan(parameters, {.slots = 32, .merges_parts = true, .joins_parts = false});
  const Bootstrap joined(parameters, {.slots = 32, .merges_parts = true});
  EXPECT_EQ(plan.result_level(), joined.result_level() + 1);
  EXPECT_EQ(plan.result_slots(), 64U);
  EXPECT_EQ(joined.result_slots(), 32U);
  EXPECT_LT(plan.cost().key_products, joined.cost().key_products);
  const BootstrapSession session(parameters, plan);
  const Values values = ckks::random_values(32, 3);
  Values parts;
  for (const Complex& value : values) parts.emplace_back(value.real());
  for (const Complex& value : values) parts.emplace_back(value.imag());
  constexpr std::size_t runs = 6;
  const rlwe::Ciphertext result = session.prepared(session.evaluator, session.encrypt(values));
  EXPECT_EQ(result.meta.slots, 64U);
  EXPECT_EQ(result.meta.level, plan.result_level());
  EXPECT_FALSE(result.meta.is_complex);
  rlwe::Ciphertext complex = session.encrypt(values);
  complex.meta.is_complex = true;
  complex.meta.filled = 20;
  const rlwe::Ciphertext real = session.prepared(session.evaluator, complex);
  EXPECT_FALSE(real.meta.is_complex);
  EXPECT_EQ(real.meta.filled, 0U);
  const Precision found =
      averaged([&](std::size_t) { return real_parts(session.bootstrapped(values)); }, parts, runs);
  const Precision model = averaged([&](std::size_t i) { return plan.simulate(values, i); }, parts, runs);
  EXPECT_NEAR(found.mean_bits, model.mean_bits, 0.5);
  EXPECT_NEAR(found.worst_bits, model.worst_bits, 1);
  EXPECT_GT(found.mean_bits, plan.expected_precision().mean_bits - 0.5);
  // Nothing refreshes values by itself with it.
  const auto shared = std::make_shared<const PreparedBootstrap>(session.client.context, plan);
  EXPECT_THROW(AutomaticBootstraps(shared, session.client.keys), ParameterError);
}

TEST(PartsSideBySide, AreThoseThatAreMerged) {
  const rlwe::Parameters first = parameters_for_bootstrapping(small_settings());
  const rlwe::Parameters standard = parameters_for_bootstrapping(standard_order());
  const auto refused = [](const rlwe::Parameters& parameters, const BootstrapOptions& options) {
    EXPECT_THROW(Bootstrap(parameters, options), ParameterError);
  };
  refused(first, {.slots = 16, .joins_parts = false});
  refused(first, {.slots = 16, .real = true, .joins_parts = false});
  refused(first, {.slots = 16, .iterations = 2, .merges_parts = true, .joins_parts = false});
  refused(standard, {.slots = 16, .merges_parts = true, .joins_parts = false});
  EXPECT_NO_THROW(Bootstrap(first, {.slots = 16, .merges_parts = true, .joins_parts = false}));
}

// A sine with a small ratio is all the error: by theory, of all ones, with the slope that fits [-1, 1] best.
TEST(ExpectedPrecision, IsThatOfTheSineWhereItIsAllOfTheError) {
  BootstrapSettings settings = settings_of({"n15-40", 64});
  settings.ratio_bits = 7;
  settings.last_bits = 47;
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
  const Bootstrap plan(parameters, {.slots = 64, .real = true});
  // sin(2 pi t) / 2 pi = t - (2 pi)^2 t^3 / 6 at t = x / R; the slope c takes c x - a x^3 nearest to x.
  const double a = std::pow(2 * std::acos(-1.0) / 128, 2) / 6;
  const Precision found = plan.expected_precision();
  const Values ones(64, 1);
  const double error = std::abs(plan.simulate(ones)[0].real() - 1);
  EXPECT_LT(error, a);
  EXPECT_GT(error, a / 5);
  EXPECT_NEAR(found.mean_bits, -std::log2(error), 0.1);
  EXPECT_NEAR(found.worst_bits, -std::log2(error), 0.2);
}

// Bits by other draws than the plan's: the mean over enough that it does not scatter, of the lower kind.
double reference(const Bootstrap& plan, std::size_t runs) {
  double uniform = 0, ones = 0;
  const double half = plan.is_exponential() ? plan.ratio() / 2 : 1;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::uint64_t seed = 1'000'000 + run;
    const Values values = ckks::random_values(plan.slots(), seed, half);
    Values exact = values;
    if (plan.is_exponential()) {
      exact.clear();
      for (const bool imaginary : {false, true}) {
        for (const Complex& value : values) {
          const double part = imaginary ? value.imag() : value.real();
          exact.push_back(std::polar(1.0, 2 * std::acos(-1.0) * part / plan.ratio()));
        }
      }
    }
    uniform += precision_of(plan.simulate(values, seed), exact).mean_bits;
    if (plan.is_exponential()) continue;
    const Values one(plan.slots(), 1);
    ones += precision_of(plan.simulate(one, seed), one).mean_bits;
  }
  const double lower = plan.is_exponential() ? uniform : std::min(uniform, ones);
  return lower / static_cast<double>(runs);
}

// Few slots are drawn so often that their mean does not scatter.
TEST(ExpectedPrecision, ScattersLittleForFewSlots) {
  for (const char* preset : {"test-40", "test-exact"}) {
    const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset(preset));
    for (const std::size_t slots : {2, 8}) {
      SCOPED_TRACE(preset + std::string(", slots ") + std::to_string(slots));
      const Bootstrap plan(parameters, {.slots = slots});
      EXPECT_NEAR(plan.expected_precision().mean_bits, reference(plan, 8192 / slots), 0.08);
    }
  }
}

// At their own degrees: what the page says of the presets, with a margin of half a bit.
TEST(ExpectedPrecision, OfPresetsForFewRealSlots) {
  struct Promise {
    const char* preset;
    std::size_t slots;
    double mean, worst;
  };
  for (const auto& [preset, slots, mean, worst] : {Promise{"n15-40", 64, 24.4, 22.6},
                                                   {"n15-36", 64, 22.5, 20.8},
                                                   {"n15-34", 2048, 20.7, 18.7},
                                                   {"n15-30", 2048, 18.6, 16.3}}) {
    SCOPED_TRACE(preset);
    const Bootstrap plan(parameters_for_bootstrapping(bootstrap_preset(preset)),
                         {.slots = slots, .real = true});
    EXPECT_NEAR(plan.expected_precision().mean_bits, mean, 0.5);
    EXPECT_NEAR(plan.expected_precision().worst_bits, worst, 0.5);
  }
}

// The error of a plan, root mean square and largest, is that of the worse kind.
TEST(ExpectedPrecision, ErrorsAreThoseOfTheWorseKind) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings_of({"n15-30", 256}));
  const Bootstrap plan(parameters, {.slots = 256, .real = true});
  const Values ones(256, 1);
  double sum = 0;
  constexpr std::size_t runs = 16;  // of 256 slots the plan has as many
  for (std::size_t run = 0; run < runs; ++run) {
    for (const Complex& value : plan.simulate(ones, run)) sum += std::norm(value.real() - 1) / (256 * runs);
  }
  const ExpectedError error = plan.expected_error(0);
  EXPECT_NEAR(error.mean / std::sqrt(sum), 1, 1e-9);
  EXPECT_GE(error.worst, error.mean);
  const ExpectedError noisy = plan.expected_error(1);
  EXPECT_NEAR(noisy.mean, std::hypot(1, error.mean), 1e-9);
  EXPECT_NEAR(noisy.worst, std::hypot(1, error.worst), 1e-9);
}

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
}  // namespace hemera::circuits::bootstrap_errors_tests
