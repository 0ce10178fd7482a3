// Functions of encrypted values beside those of the standard library.
#include "hemera/circuits/functions/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "circuits/function_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::elementary_tests {
namespace {

struct ElementaryCase {
  const char* name;
  std::function<Function(const Interval&, double)> make;
  Interval interval;
  RealFunction expected;
  double tolerance;
  std::size_t depth;  // at most
  double gap = 0;     // of signs, which have no values in it
};

// What iterations compute is beyond what a polynomial of degree 127 does.
std::vector<ElementaryCase> elementary_cases() {
  const RealFunction exponent = [](double x) { return std::exp(x); },
                     root = [](double x) { return std::sqrt(x); },
                     reciprocal = [](double x) { return 1 / x; },
                     signum = [](double x) { return x < 0 ? -1.0 : 1.0; },
                     logistic = [](double x) { return 1 / (1 + std::exp(-x)); },
                     swish = [](double x) { return x / (1 + std::exp(-x)); },
                     gaussian_unit =
                         [](double x) { return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); },
                     log_sum = [](double x) { return std::log1p(std::exp(x)); };
  return {
      {"Sigmoid", sigmoid, {-8, 8}, logistic, 0x1p-16, 6},
      {"Tanh", hyperbolic_tangent, {-4, 4}, [](double x) { return std::tanh(x); }, 0x1p-16, 6},
      {"Gelu", gelu, {-6, 6}, gaussian_unit, 0x1p-12, 6},
      {"Silu", silu, {-6, 6}, swish, 0x1p-12, 6},
      {"Softplus", softplus, {-20, 30}, log_sum, 0x1p-6, 6},
      {"Exponential", exponential, {-2, 2}, exponent, 0x1p-18, 5},
      {"Logarithm", logarithm, {0.5, 4}, [](double x) { return std::log(x); }, 0x1p-16, 5},
      {"Inverse", inverse, {0.5, 2}, reciprocal, 0x1p-16, 5},
      {"InverseFarFromOne", inverse, {-200, -100}, reciprocal, 0x1p-20, 4},
      {"InverseByIterations", inverse, {0.004, 4}, reciprocal, 0x1p-6, 12},
      {"SquareRoot", square_root, {0.5, 2}, root, 0x1p-16, 5},
      {"SquareRootFromZero", square_root, {0, 1}, root, 0x1p-6, 6},
      {"SquareRootByIterations", square_root, {0.0001, 1}, root, 0x1p-17, 14},
      {"SquareRootByStagesFromZero", square_root, {0, 4}, root, 0x1p-10, 13},
      {"SquareRootByStagesNearZero", square_root, {1e-6, 3}, root, 0x1p-12, 15},
      {"Sign",
       [](const Interval&, double e) { return sign(0x1p-5, e); },
       {-1, 1},
       signum,
       0x1p-16,
       10,
       0x1p-5},
      {"SignOfLargerValues",
       [](const Interval& x, double e) { return sign(2, e, x.high); },
       {-40, 40},
       signum,
       0x1p-12,
       10,
       2},
  };
}

class ElementaryTest : public ::testing::TestWithParam<ElementaryCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, ElementaryTest, ::testing::ValuesIn(elementary_cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(ElementaryTest, IsTheFunction) {
  const ElementaryCase& tested = GetParam();
  const Function function = tested.make(tested.interval, tested.tolerance);
  EXPECT_LE(function.error(), tested.tolerance);
  EXPECT_GT(function.error(), tested.tolerance / 0x1p14);
  EXPECT_LE(function.depth(), tested.depth);
  Values x = spread(function.inputs().front()), expected;
  for (Complex& value : x) {
    if (std::abs(value) < tested.gap) value = value.real() < 0 ? -tested.gap : tested.gap;
  }
  for (const Complex& value : x) expected.push_back(tested.expected(value.real()));
  const double clear_error = ckks::largest_difference(function.evaluate(Rows{x}).front(), expected);
  EXPECT_LE(clear_error, function.error() + 1e-13);

  const rlwe::Parameters parameters = ckks::small_parameters(function.depth(), 2, 45);
  const FunctionPlan plan(parameters, function);
  EXPECT_EQ(plan.ends().depth(), function.depth());
  EXPECT_LT(
      ckks::largest_difference(plan.evaluate_clear(Rows{x}).front(), function.evaluate(Rows{x}).front()),
      1e-9);
  const FunctionSession session(parameters);
  // The noise of iterations is that of the one steepest value, times what the secret is in its slot: the same
  // values in many encryptions, each turned to other slots, so that it has a mean.
  constexpr std::size_t batch = 32;
  Values inputs, clear;
  Values once = plan.evaluate_clear(Rows{x}).front(), turned = x, exact = expected;
  expected.clear();
  for (std::size_t i = 0; i < batch; ++i) {
    inputs.insert(inputs.end(), turned.begin(), turned.end());
    clear.insert(clear.end(), once.begin(), once.end());
    expected.insert(expected.end(), exact.begin(), exact.end());
    for (Values* each : {&turned, &once, &exact}) {
      std::rotate(each->begin(), each->begin() + static_cast<std::ptrdiff_t>(test_slots / batch),
                  each->end());
    }
  }
  const rlwe::Ciphertext y = session.run(plan, session.client.encrypt(inputs, {batch}));
  EXPECT_EQ(y.meta.level, 0U);
  EXPECT_TRUE(
      session.client.context->scales().close(y.meta.scale, session.client.context->scales().level_scale(0)));
  const Values found = session.client.decrypt(y);
  EXPECT_LT(ckks::largest_difference(found, expected), function.error() + 10 * plan.expected_error().worst);
  const double noise = root_mean_square(found, clear);
  // Few of the values are where iterations and signs are steep.
  EXPECT_LT(noise, 2 * plan.expected_error().mean);
}

TEST(Sign, IsSteepestAtZero) {
  const Function function = sign(0x1p-12, 0x1p-16);
  const rlwe::Parameters parameters = ckks::small_parameters(function.depth(), 2, 45);
  const FunctionPlan plan(parameters, function);
  const FunctionSession session(parameters);
  constexpr std::size_t batch = 4;
  const Values zeros(batch * test_slots);
  const Values found = session.client.decrypt(session.run(plan, session.client.encrypt(zeros, {batch})));
  const ExpectedError expected = plan.expected_error();
  EXPECT_NEAR(std::log2(root_mean_square(found, zeros) / expected.worst), 0, 1);
  EXPECT_GT(expected.worst, 0x1p6 * expected.mean);
}

struct PairCase {
  const char* name;
  std::function<Function()> make;
  std::function<double(double, double)> expected;
  double gap;
};

class PairTest : public ::testing::TestWithParam<PairCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, PairTest,
                         ::testing::Values(PairCase{"Compare", [] { return compare(0.125, 0x1p-12, 2); },
                                                    [](double a, double b) { return a > b ? 1.0 : 0.0; },
                                                    0.125},
                                           PairCase{"Maximum", [] { return maximum(0.01, 2); },
                                                    [](double a, double b) { return std::max(a, b); }, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(PairTest, IsTheFunctionOfTwo) {
  const auto& [name, make, expected_of, gap] = GetParam();
  const Function function = make();
  const Values a = spread({-2, 2}), b = spread({-2, 2}, test_slots, 37);
  const rlwe::Parameters parameters = ckks::small_parameters(function.depth(), 2, 45);
  const FunctionPlan plan(parameters, function);
  const FunctionSession session(parameters);
  const Ciphertext x = session.client.encrypt(a), y = session.client.encrypt(b);
  const Values found = session.client.decrypt(session.run(plan, std::vector{&x, &y}).front());
  const Values clear = function.evaluate(Rows{a, b}).front();
  std::size_t compared = 0;
  for (std::size_t i = 0; i < test_slots; ++i) {
    EXPECT_LT(std::abs(found[i] - clear[i]), 0x1p-16);
    if (std::abs(a[i] - b[i]) < gap) continue;
    ++compared;
    const double expected = expected_of(a[i].real(), b[i].real());
    EXPECT_LE(std::abs(clear[i] - expected), function.error() + 1e-13) << a[i] << " " << b[i];
  }
  EXPECT_GT(compared, test_slots / 2);
  EXPECT_LE(function.error(), gap == 0 ? 0.01 : 0x1p-12);
}

TEST(Elementary, SaysWhatItCanNot) {
  EXPECT_THROW(static_cast<void>(inverse({-1, 1}, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(inverse({0, 1}, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(inverse({1, 2}, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(logarithm({0, 1}, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(square_root({-1, 1}, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(square_root({0, 1}, 0x1p-23)), ParameterError);
  EXPECT_THROW(static_cast<void>(sign(0, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(sign(1, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(sign(0.1, -1)), ParameterError);
  EXPECT_THROW(static_cast<void>(compare(NAN, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(maximum(2, 1)), ParameterError);
}

// A clip in front of functions of all kinds of parts, some of which take values in between and not the last.
TEST(Elementary, ClippedFunctionsAreThoseOfTheClip) {
  const auto of_parts = [](const Interval& interval, double) {
    Function function(std::vector{interval});
    const auto s = function.add({.terms = {{0, {0.5}}}, .constant = {0.25}});
    const auto p = function.add(s, Polynomial({1, -1, 0.5, 0, 0, 2}, Basis::power, {-2, 2}, {.count = 2}));
    const auto q = function.add({.factor = 2,
                                 .products = {{p + 1, s}, {p, p + 1}},
                                 .terms = {{s, {-0.5}}, {p, {0.25}}, {0, {1}}},
                                 .constant = {0.125}});
    const auto r = function.add({.products = {{q, 0}}, .terms = {{p + 1, {1}}}});
    function.add({.products = {{r, r}}});
    function.set_outputs({r});
    return function;
  };
  const auto exact = [](double x) {
    const double s = 0.5 * x + 0.25, first = 1 - s + 0.5 * s * s, second = 2 * s * s;
    const double q = 2 * (second * s + first * second) - 0.5 * s + 0.25 * first + x + 0.125;
    return q * x + second;
  };
  struct Clipped {
    FunctionMaker make;
    std::function<double(double)> exact;
    Interval interval;
    double tolerance, largest;
    std::size_t least_parts;
  };
  const std::vector<Clipped> cases = {
      {of_parts, exact, {-1, 1.5}, 0x1p-4, 4, 5},
      {inverse, [](double x) { return 1 / x; }, {1, 4}, 0x1p-10, 6, 5},
      {square_root, [](double x) { return std::sqrt(x); }, {1, 100}, 0x1p-4, 150, 1},
      {hyperbolic_tangent, [](double x) { return std::tanh(x); }, {-2, 3}, 0x1p-4, 8, 1},
      // A sixteenth more at each end would have 0 in it.
      {inverse, [](double x) { return 1 / x; }, {1, 30}, 0x1p-3, 40, 1},
      {inverse, [](double x) { return 1 / x; }, {-30, -1}, 0x1p-3, 40, 1},
  };
  for (const Clipped& each : cases) {
    SCOPED_TRACE(each.interval.high);
    // The function on the wider interval that a clip leaves.
    const double extra = (each.interval.high - each.interval.low) / 16;
    const auto& [low, high] = each.interval;
    const Interval wider{low > 0 ? std::max(low / 2, low - extra) : low - extra,
                         high < 0 ? std::min(high / 2, high + extra) : high + extra};
    EXPECT_GE(each.make(wider, each.tolerance / 2).parts().size(), each.least_parts);
    const Function function = clipped(each.make, each.interval, each.tolerance, each.largest);
    EXPECT_LE(function.error(), each.tolerance);
    const Values x = spread({-each.largest, each.largest}, 4001);
    const Values found = function.evaluate(Rows{x}).front();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at = std::clamp(x[i].real(), each.interval.low, each.interval.high);
      ASSERT_NEAR(found[i].real(), each.exact(at), each.tolerance * (1 + 1e-6)) << x[i].real();
    }
  }
}

TEST(Elementary, AClipIsOfValuesBeyondItsEnds) {
  const double inf = HUGE_VAL;
  struct Refused {
    Interval ends;
    double tolerance, largest;
  };
  for (const auto& [ends, tolerance, largest] : std::vector<Refused>{{{-1, 2}, 0.25, 2},
                                                                     {{-2, 1}, 0.25, 2},
                                                                     {{-1, 2}, 0.25, 1.5},
                                                                     {{-2, 1}, 0.25, 1.5},
                                                                     {{-1, 2}, 0.25, inf},
                                                                     {{-1, 2}, 0.25, NAN},
                                                                     {{2, 2}, 0.25, 6},
                                                                     {{3, 2}, 0.25, 6},
                                                                     {{-inf, 2}, 0.25, 6},
                                                                     {{-1, inf}, 0.25, 6},
                                                                     {{NAN, 2}, 0.25, 6},
                                                                     {{-1, 2}, 0, 6},
                                                                     {{-1, 2}, -1, 6},
                                                                     {{-1, 2}, inf, 6},
                                                                     {{-1, 2}, NAN, 6}}) {
    SCOPED_TRACE(std::to_string(ends.low) + " " + std::to_string(ends.high) + " " + std::to_string(largest));
    EXPECT_THROW(static_cast<void>(clip(ends, tolerance, largest)), ParameterError);
    EXPECT_THROW(static_cast<void>(clipped(sigmoid, ends, tolerance, largest)), ParameterError);
  }
  EXPECT_NO_THROW(static_cast<void>(clip({-1, 2}, 0.25, 2.01)));
  EXPECT_NO_THROW(static_cast<void>(clip({-2, 1}, 0.25, 2.01)));
}

// The error is a bound, and not much more: of a grid, one that is dense at 0, and both ends.
TEST(Elementary, StatesTheErrorOfRootsByStages) {
  for (const auto& [interval, bits] : {std::pair(Interval{0, 1}, 10), std::pair(Interval{0, 2500}, 10),
                                       std::pair(Interval{0, 0.01}, 20), std::pair(Interval{1e-7, 9}, 12)}) {
    SCOPED_TRACE(std::to_string(interval.high));
    const Function function = square_root(interval, std::exp2(-bits));
    EXPECT_GT(function.parts().size(), 1U);
    Values x = spread(interval, 1U << 15U);
    for (double t = interval.high; t > std::max(interval.low, 1e-14); t *= 0.999) x.emplace_back(t);
    x.insert(x.end(), {interval.low, interval.high});
    const Values found = function.evaluate(Rows{x}).front();
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(found[i].real() - std::sqrt(x[i].real())));
    }
    EXPECT_LE(largest, function.error());
    EXPECT_GT(largest, 0.9 * function.error());
    EXPECT_LE(function.error(), std::exp2(-bits));
    EXPECT_DOUBLE_EQ(function.largest().front(), std::sqrt(interval.high));
  }
}

TEST(Elementary, ChoosesTheLeastDepth) {
  EXPECT_EQ(inverse({-200, -100}, 0x1p-20).parts().size(), 1U);
  EXPECT_GT(inverse({0.004, 4}, 0x1p-6).parts().size(), 1U);
  EXPECT_EQ(square_root({0.5, 2}, 0x1p-16).parts().size(), 1U);
  EXPECT_GT(square_root({0.0001, 1}, 0x1p-17).parts().size(), 1U);
  // |x| by the same stages takes one level more; iterations from 1e-6 on take 23, and from 0 on there are
  // none.
  EXPECT_EQ(square_root({0, 1}, 0x1p-13).depth() + 1, absolute({-1, 1}, 0x1p-13).depth());
  EXPECT_LE(square_root({1e-6, 1}, 0x1p-16).depth(), 15U);
  // A gap half as wide takes about one level more.
  const std::size_t wide = sign(0x1p-4, 0x1p-10).depth(), narrow = sign(0x1p-12, 0x1p-10).depth();
  EXPECT_GT(narrow, wide + 5);
  EXPECT_LE(narrow, wide + 14);
}

}  // namespace
}  // namespace hemera::circuits::elementary_tests
