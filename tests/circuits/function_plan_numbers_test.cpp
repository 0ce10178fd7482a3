// Numbers that plans of functions report: scales, bounds, intervals and kinds of values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "circuits/function_support.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::function_plans {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

TEST(PlanNumbers, ComplexConstantsMakeAFunctionComplex) {
  for (const bool is_real : {true, false}) {
    Function function(std::vector{Interval{}});
    function.add({.terms = {{0, {1}}}, .constant = {is_real ? Complex(2) : Complex(2, 1)}});
    EXPECT_EQ(function.is_real(), is_real);
  }
  Function function(std::vector{Interval{}});
  EXPECT_THROW(function.add({.terms = {{0, {1}}}, .constant = {HUGE_VAL}}), ParameterError);
}

// With iterations, too.
TEST(PlanNumbers, ARootIsAtMostThatOfTheEnd) {
  const Function function = square_root({0.1, 1000}, 0x1p-15);
  ASSERT_GT(function.parts().size(), 1U);
  EXPECT_EQ(function.largest(), std::vector<double>{std::sqrt(1000.0)});
}

// A clip adds its error to that of the function, which it leaves as it is where the function is flat.
TEST(PlanNumbers, ErrorsOfClippedFunctionsAreThoseOfBoth) {
  const RealFunction exact = [](double x) { return 1 / (1 + std::exp(-std::clamp(x, -8.0, 8.0))); };
  for (const double tolerance : {0x1p-4, 0x1p-6}) {
    const Function function = clipped(sigmoid, {-8, 8}, tolerance, 20);
    EXPECT_LE(function.error(), tolerance);
    const Values x = spread({-20, 20}, 8001);
    const Values y = function.evaluate(Rows{x}).front();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(y[i].real() - exact(x[i].real())));
    }
    EXPECT_LE(worst, function.error() * (1 + 1e-3));
    EXPECT_GE(worst, function.error() / 4);
  }
}

// Each of several outputs has its own bound: |x y| <= 24, |x - 2 y| <= 14, |x| <= 8.
TEST(PlanNumbers, EachOutputHasItsOwnBound) {
  Function function({Interval{-8, 2}, Interval{-1, 3}});
  const auto product = function.add({.products = {{0, 1}}});
  const auto sum = function.add({.terms = {{0, {1}}, {1, {-2}}}});
  const std::map<Function::Value, double> bounds = {{product, 24}, {sum, 14}, {0, 8}};
  const FunctionSession session(parameters());
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, -8), {}, {}, {}, 8), session.client.secret);
  const Ciphertext y =
      ckks::encrypt(session.client.encoder->encode(Values(8, 3), {}, {}, {}, 3), session.client.secret);
  for (const auto& outputs : {std::vector<Function::Value>{product, sum, 0}, {0, sum, product, sum}}) {
    function.set_outputs(outputs);
    const auto results = session.run(FunctionPlan(parameters(), function), {&x, &y});
    ASSERT_EQ(results.size(), outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_DOUBLE_EQ(results[i].meta.largest, bounds.at(outputs[i])) << i;
    }
  }
}

// The scale that a plan tells is that of the first result among those of the lowest level.
TEST(PlanNumbers, ResultScaleIsThatOfTheFirstResultOfItsLevel) {
  Function function(std::vector{Interval{}});
  const auto product = function.add({.products = {{0, 0}}});
  const auto sum = function.add({.terms = {{0, {0.5}}}});
  const FunctionSession session(parameters());
  const auto& context = *session.client.context;
  const double scale = context.scales().level_scale(6) * 1.25;
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, 0.5), {}, 6, scale), session.client.secret);
  for (const auto& outputs :
       {std::vector<Function::Value>{product, sum}, {sum, product}, {0, sum, product}}) {
    function.set_outputs(outputs);
    const FunctionPlan plan(parameters(), function, {.scale = scale, .results_drift = true});
    const auto results = session.run(plan, {&x});
    std::size_t first = 0;
    while (results[first].meta.level != plan.result_level()) ++first;
    const double other = results.back().meta.scale / results[first].meta.scale;
    ASSERT_GT(std::abs(std::log2(other)), 0.1);
    EXPECT_NEAR(plan.ends().result_scale / results[first].meta.scale, 1, 1e-12);
    for (const Ciphertext& result : results) EXPECT_GE(result.meta.level, plan.result_level());
  }
}

// What waits for its rescale is a level lower than its metadata tell: it is rescaled before it is used, and
// refused where that leaves it below the plan's level.
TEST(PlanNumbers, InputsOfAFunctionAreRescaledFirst) {
  Function function(std::vector{Interval{}});
  function.set_outputs({0, function.add({.terms = {{0, {0.5}}}})});
  const FunctionSession session(parameters());
  const Ciphertext x = session.client.encrypt(Values(8, 0.5));
  const Ciphertext waiting = session.client.evaluator->square(x);
  ASSERT_EQ(waiting.meta.noise_scale_degree, 2);
  for (const std::size_t level : {5, 4}) {
    const FunctionPlan plan(parameters(), function, {.level = level});
    const auto results = session.run(plan, {&waiting});
    EXPECT_EQ(results[0].meta.level, level);
    EXPECT_EQ(results[0].meta.noise_scale_degree, 1);
    EXPECT_LT(ckks::largest_difference(session.client.decrypt(results[0]), Values(8, 0.25)), 1e-6);
    EXPECT_LT(ckks::largest_difference(session.client.decrypt(results[1]), Values(8, 0.125)), 1e-6);
  }
  EXPECT_THROW(static_cast<void>(session.run(FunctionPlan(parameters(), function, {.level = 6}), waiting)),
               LevelError);
  // At the very scale that the plan has: it waits all the same.
  const FunctionPlan same(parameters(), function, {.level = 6, .scale = waiting.meta.scale});
  EXPECT_THROW(static_cast<void>(session.run(same, waiting)), LevelError);
}

// |i x| <= 2 to both sides, whatever the sign of its real part.
TEST(PlanNumbers, IntervalsOfStagesHoldMagnitudesOfComplexValues) {
  Function function(std::vector{Interval{-2, 1}});
  const auto turned = function.add({.terms = {{0, {Complex(0, 1)}}}});
  function.set_outputs({function.add({.products = {{turned, turned}}})});
  const auto stages = stages_of(function, 1, 1);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].function.largest(), std::vector<double>{2});
  EXPECT_EQ(stages[1].function.inputs().front(), (Interval{-2, 2}));
  EXPECT_EQ(stages[1].function.largest(), std::vector<double>{4});
}

// The best polynomial's weighted errors alternate at degree + 2 points (P. Chebyshev), also where the
// function is even and the weight is not.
TEST(PlanNumbers, AWeightThatIsNotEvenLeavesNoParity) {
  constexpr std::size_t degree = 3;
  const RealFunction weight = [](double x) { return std::exp(2 * x); };
  const Approximation found =
      approximate([](double x) { return std::cos(2 * x); }, {-1, 1}, degree, {.weight = weight});
  std::size_t alternations = 0;
  double sign = 0;
  for (int i = -5000; i <= 5000; ++i) {
    const double x = i / 5000.0;
    const double error = weight(x) * (std::cos(2 * x) - found.polynomial.evaluate(0, x).real());
    if (std::abs(error) < 0.99 * found.error || error * sign > 0) continue;
    ++alternations;
    sign = error;
  }
  EXPECT_GE(alternations, degree + 2);
}

}  // namespace
}  // namespace hemera::circuits::function_plans
