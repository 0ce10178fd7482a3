// Approximations beside errors that are known in closed form, and beside the theorem of alternation.
#include "hemera/circuits/functions/approximation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

double error_at(const Approximation& found, const RealFunction& f, double x) {
  return f(x) - found.polynomial.evaluate(0, x).real();
}

TEST(Approximation, HasTheErrorsThatAreKnown) {
  // The least error of x^n by lower degrees is 2^(1-n): that of T_n.
  for (const std::size_t n : {2U, 3U, 6U, 11U}) {
    const Approximation found =
        approximate([&](double x) { return std::pow(x, static_cast<double>(n)); }, {}, n - 1);
    EXPECT_NEAR(found.error * std::exp2(static_cast<double>(n) - 1), 1, 2e-3) << n;
  }
  // The error of |x|: 1/8 for degree 2, and 0.0676 for degree 4.
  const auto size = [](double x) { return std::abs(x); };
  EXPECT_NEAR(approximate(size, {}, 2).error, 0.125, 3e-4);
  EXPECT_NEAR(approximate(size, {}, 4).error, 0.067621, 1e-4);
  // The error of exp by lines: (e^-1 + slope (1 - log slope)) / 2 with the slope sinh 1.
  const double slope = std::sinh(1.0);
  const double expected = (std::exp(-1) + slope * std::log(slope)) / 2;
  EXPECT_NEAR(approximate([](double x) { return std::exp(x); }, {}, 1).error, expected, 5e-4);
  // Relative errors of 1/x: one over a Chebyshev polynomial outside of [-1, 1], here T_4(5/3) = 40.5 + ...
  const double t = 5.0 / 3, known = 1 / (8 * t * t * t * t - 8 * t * t + 1);
  const Approximation inverse =
      approximate([](double x) { return 1 / x; }, {1, 4}, 3, {.weight = [](double x) { return x; }});
  EXPECT_NEAR(inverse.error / known, 1, 2e-3);
}

TEST(Approximation, Alternates) {
  const auto f = [](double x) { return std::exp(std::sin(3 * x)); };
  for (const std::size_t degree : {1U, 4U, 9U, 20U}) {
    const Interval interval{-0.5, 2};
    const Approximation found = approximate(f, interval, degree);
    std::size_t alternations = 0;
    double sign = 0, largest = 0;
    for (std::size_t i = 0; i <= 100000; ++i) {
      const double x = interval.low + 2.5e-5 * static_cast<double>(i);
      const double error = error_at(found, f, x);
      largest = std::max(largest, std::abs(error));
      if (std::abs(error) > 0.997 * found.error && error * sign <= 0) {
        ++alternations;
        sign = error;
      }
    }
    EXPECT_GE(alternations, degree + 2) << degree;
    // What is told is what is found between the points, too.
    EXPECT_LE(largest, found.error);
    EXPECT_GT(largest, 0.997 * found.error);
    const Approximation other = approximate(f, interval, degree, {.fit = Fit::interpolation});
    EXPECT_GT(other.error, found.error);
    EXPECT_LT(other.error, (2 + std::log(static_cast<double>(degree + 1))) * found.error);
  }
}

// The largest difference from the function at points that the approximation has not seen.
TEST(Approximation, ReportsErrorsThatNoPointExceeds) {
  struct Case {
    const char* name;
    RealFunction f;
    Interval interval;
    double tolerance;
  };
  const Case cases[] = {
      {"tanh", [](double x) { return std::tanh(x); }, {-8, 8}, 0x1p-8},
      {"tanh, nearer", [](double x) { return std::tanh(x); }, {-8, 8}, 0x1p-20},
      {"root", [](double x) { return std::sqrt(x); }, {0.1, 5}, 0x1p-16},
      {"logarithm", [](double x) { return std::log(x); }, {0.1, 5}, 0x1p-16},
      {"inverse", [](double x) { return 1 / x; }, {0.1, 5}, 0x1p-20},
  };
  for (const Case& each : cases) {
    const Approximation found = approximate_within(each.f, each.interval, each.tolerance);
    double largest = 0;
    constexpr int points = 200'000;
    for (int i = 0; i <= points; ++i) {
      const double x = each.interval.low + (each.interval.high - each.interval.low) * i / points;
      largest = std::max(largest, std::abs(error_at(found, each.f, x)));
    }
    EXPECT_LE(largest, found.error) << each.name;
    EXPECT_GT(largest, 0.997 * found.error) << each.name;
  }
}

TEST(Approximation, KeepsSymmetry) {
  const Approximation odd = approximate([](double x) { return std::tanh(x); }, {-4, 4}, 16);
  EXPECT_EQ(odd.polynomial.degree(), 15U);
  for (std::size_t k = 0; k <= 15; k += 2) EXPECT_EQ(odd.polynomial.coefficient(0, k)[0], 0.0);
  const Approximation even = approximate([](double x) { return std::cos(x); }, {-4, 4}, 9);
  EXPECT_EQ(even.polynomial.degree(), 8U);
  const Approximation neither = approximate([](double x) { return std::tanh(x); }, {-4, 3.9}, 8);
  EXPECT_NE(neither.polynomial.coefficient(0, 2)[0], 0.0);
}

// Where errors are those of doubles, and where degrees are high.
TEST(Approximation, ReachesTheRoundingOfDoubles) {
  const auto f = [](double x) { return std::exp(x); };
  EXPECT_LT(approximate(f, {-1, 1}, 40).error, 1e-14);
  EXPECT_LT(approximate([](double x) { return 1 / (1 + 100 * x * x); }, {-1, 1}, 300).error, 1e-12);
  const Approximation constant = approximate([](double) { return 3.0; }, {0, 1}, 5);
  EXPECT_LT(constant.error, 1e-14);
}

TEST(Approximation, FindsTheSmallestDegree) {
  const auto f = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Approximation found = approximate_within(f, {-8, 8}, 0x1p-10);
  EXPECT_LE(found.error, 0x1p-10);
  EXPECT_GT(approximate(f, {-8, 8}, found.polynomial.degree() - 1).error, 0x1p-10);
  // A polynomial of even degree is no better for this odd function.
  EXPECT_EQ(found.polynomial.degree() % 2, 1U);
}

TEST(Approximation, FindsTheSmallestDegreeOfPolynomials) {
  // T_n is 1 away from all polynomials of a lower degree (Chebyshev); errors are bounds, a little above.
  for (std::size_t n = 0; n <= 9; ++n) {
    SCOPED_TRACE(n);
    const auto f = [n](double x) { return std::cos(static_cast<double>(n) * std::acos(x)); };
    EXPECT_EQ(approximate_within(f, {-1, 1}, 0x1p-20).polynomial.degree(), n);
    EXPECT_EQ(approximate_within(f, {-1, 1}, 1.01).polynomial.degree(), 0U);
  }
  const auto line = [](double x) { return 2 + 0.25 * x; };
  EXPECT_EQ(approximate_within(line, {-1, 1}, 0.251).polynomial.degree(), 0U);
  EXPECT_EQ(approximate_within(line, {-1, 1}, 0.249).polynomial.degree(), 1U);
  const Approximation constant = approximate_within(line, {-1, 3}, 0.6);
  EXPECT_NEAR(constant.error, 0.5, 1e-3);
  EXPECT_NEAR(constant.polynomial.evaluate(0, 0).real(), 2.25, 1e-6);
}

TEST(Approximation, RefusesWhatDoesNotFit) {
  const auto f = [](double x) { return std::sqrt(x); };
  EXPECT_THROW(static_cast<void>(approximate(f, {-1, 1}, 3)), ParameterError);
  EXPECT_THROW(static_cast<void>(approximate(f, {1, 0}, 3)), ParameterError);
  EXPECT_THROW(static_cast<void>(approximate(f, {0, NAN}, 3)), ParameterError);
  EXPECT_THROW(static_cast<void>(approximate(f, {0, 1}, most_approximation_degree + 1)), ParameterError);
  EXPECT_THROW(static_cast<void>(approximate(f, {0, 1}, 3, {.weight = [](double x) { return x; }})),
               ParameterError);
  EXPECT_THROW(static_cast<void>(approximate_within(f, {0, 1}, 0)), ParameterError);
  const auto step = [](double x) { return x < 0.3 ? 0.0 : 1.0; };
  EXPECT_THROW(static_cast<void>(approximate_within(step, {0, 1}, 0.01, {.fit = Fit::interpolation})),
               ParameterError);
}

}  // namespace
}  // namespace hemera::circuits
