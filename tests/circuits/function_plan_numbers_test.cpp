// Numbers that plans of functions report: scales, bounds, intervals and kinds of values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "circuits/function_support.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/runtime/error.hpp"
#include "member_count.hpp"

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

// Each of several outputs has its own bound: |x y| <= 24, |x - 2 y| <= 14, |x| <= 8.
TEST(PlanNumbers, EachOutputHasItsOwnBound) {
  Function function({Interval{-8, 2}, Interval{-1, 3}});
  const auto product = function.add({.products = {{0, 1}}});
  const auto sum = function.add({.terms = {{0, {1}}, {1, {-2}}}});
  const auto twice = function.add({.factor = 2, .products = {{0, 1}}, .constant = {1}});
  const std::map<Function::Value, double> bounds = {{product, 24}, {sum, 14}, {twice, 49}, {0, 8}};
  const FunctionSession session(parameters());
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, -8), {}, {}, {}, 8), session.client.secret);
  const Ciphertext y =
      ckks::encrypt(session.client.encoder->encode(Values(8, 3), {}, {}, {}, 3), session.client.secret);
  for (const auto& outputs : {std::vector<Function::Value>{product, sum, 0}, {0, sum, twice, product, sum}}) {
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

TEST(PlanNumbers, WorkOfAllLevelsAddsUp) {
  const Cost cost{.work = {{3, {11, 22, 33, 44}}, {2, {50, 60, 70, 80}}}};
  ASSERT_EQ(tests::member_count<Work>(), 4U);  // all of them are below
  const Work work = cost.total_work();
  EXPECT_EQ((std::array{work.mod_ups, work.key_products, work.divisions, work.products}),
            (std::array<std::size_t, 4>{61, 82, 103, 124}));
}

// A sum goes over two components of each limb once for each term and once for its rescale, a product over
// four pairs of components; what is relinearized is rescaled on the way.
TEST(PlanNumbers, WorkOfAFunctionIsThatOfItsSums) {
  const rlwe::Parameters own = parameters();
  Function function(std::vector<Interval>(2));
  const auto a = function.add({.terms = {{0, {0.5}}, {1, {0.25}}, {0, {0.125}}}});
  const auto b = function.add({.terms = {{a, {0.5}}}, .constant = {1}});
  const auto c = function.add({.products = {{b, b}, {a, b}}, .terms = {{b, {0.25}}}});
  function.set_outputs({c});
  const Cost cost = FunctionPlan(own, function).cost();
  const auto limbs = [&](std::size_t level) { return own.literal().levels[level].size(); };
  const auto at = [&](std::size_t level) { return cost.work.at(level); };
  EXPECT_EQ(at(6).products, 3 * 2 * limbs(6));
  EXPECT_EQ(at(6).divisions, 2 * limbs(6));
  EXPECT_EQ(at(6).key_products + at(6).mod_ups, 0U);
  // Beside its own sum, a comes down to where it is multiplied.
  // One sum is multiplied: the other is lowered, a multiple that the division takes.
  EXPECT_EQ(at(5).products, 2 * limbs(5));
  EXPECT_EQ(at(5).divisions, 2 * 2 * limbs(5));
  const std::size_t extended = limbs(4) + own.default_gadget(4).special.size();
  EXPECT_EQ(at(4).products, (2 * 4 + 2) * limbs(4));
  EXPECT_EQ(at(4).divisions, 2 * extended);
  EXPECT_EQ(cost.rescales, 3U);
  EXPECT_EQ(cost.plain_products, 3U + 1U + 1U);
  EXPECT_EQ(cost.products, 2U);
  EXPECT_EQ(cost.key_products, 1U);
}

}  // namespace
}  // namespace hemera::circuits::function_plans
