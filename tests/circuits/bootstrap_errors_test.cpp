// What plans tell of their precision, beside encrypted bootstraps of every kind of input.
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

class FewRealSlots : public testing::TestWithParam<SmallRing> {};

INSTANTIATE_TEST_SUITE_P(Presets, FewRealSlots,
                         testing::Values(SmallRing{"n15-40", 64}, SmallRing{"n15-30", 256}),
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

}  // namespace
}  // namespace hemera::circuits::bootstrap_errors_tests
