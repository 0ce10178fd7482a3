// Plans of functions: the numbers that they report, and stages, which together are the whole function.
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
    EXPECT_LT(session.client.error(results[0], Values(8, 0.25)), 1e-6);
    EXPECT_LT(session.client.error(results[1], Values(8, 0.125)), 1e-6);
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

// The outputs by the stages, one after the other, in the clear.
Rows by_stages(const Function& function, const std::vector<FunctionStage>& stages, const Rows& inputs) {
  std::map<Function::Value, Values> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i];
  for (const FunctionStage& stage : stages) {
    Rows taken;
    for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
      taken.push_back(values.at(stage.inputs[i]));
      for (const Complex& value : taken.back()) {
        EXPECT_GE(value.real(), stage.function.inputs()[i].low - 1e-3);
        EXPECT_LE(value.real(), stage.function.inputs()[i].high + 1e-3);
      }
    }
    const Rows given = stage.function.evaluate(taken);
    EXPECT_EQ(given.size(), stage.outputs.size());
    for (std::size_t i = 0; i < given.size(); ++i) values[stage.outputs[i]] = given[i];
  }
  Rows results;
  for (const Function::Value output : function.outputs()) results.push_back(values.at(output));
  return results;
}

void expect_whole(const Function& function, std::size_t first_levels, std::size_t levels,
                  std::size_t expected_stages) {
  SCOPED_TRACE(std::to_string(first_levels) + " and " + std::to_string(levels) + " levels");
  const std::vector<FunctionStage> stages = stages_of(function, first_levels, levels);
  EXPECT_EQ(stages.size(), expected_stages);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    EXPECT_LE(stages[i].function.depth(), i == 0 ? std::max(first_levels, levels) : levels);
  }
  Rows inputs;
  for (std::size_t i = 0; i < function.inputs().size(); ++i) {
    inputs.push_back(spread(function.inputs()[i], 64, 2 * i + 1));
  }
  const Rows whole = function.evaluate(inputs), found = by_stages(function, stages, inputs);
  ASSERT_EQ(found.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_LT(ckks::largest_difference(found[i], whole[i]), 1e-12);
  }
}

TEST(FunctionStages, AreTheWholeFunction) {
  const Function function = maximum(0x1p-8);  // the difference, polynomials of depth 5 and 4, the end
  ASSERT_EQ(function.depth(), 11U);
  expect_whole(function, 11, 11, 1);
  expect_whole(function, 10, 10, 2);
  expect_whole(function, 5, 5, 3);
  expect_whole(function, 1, 11, 2);
  // Nothing is left for the first stage: all is done after the bootstrap.
  expect_whole(function, 0, 11, 1);
}

TEST(FunctionStages, TakeIterationsApart) {
  const Function function = inverse({1, 1000}, 0x1p-16);
  ASSERT_EQ(function.depth(), 10U);
  expect_whole(function, 10, 10, 1);
  expect_whole(function, 7, 7, 2);
}

TEST(FunctionStages, TakeRectifiersApart) {
  const Function function = relu({-2, 2}, 0x1p-10);  // polynomials of depth 3, 3 and 5, and a product
  ASSERT_EQ(function.depth(), 12U);
  expect_whole(function, 12, 12, 1);
  expect_whole(function, 6, 6, 2);
  expect_whole(function, 5, 5, 4);
  // A difference that takes no level: of twice the inputs, at half their scale.
  Function of_difference({{-1, 1}, {-1, 1}});
  Function::Sum difference{.fraction_bits = 1};
  for (const Function::Value input : {0U, 1U}) {
    const auto doubled = of_difference.add({.terms = {{input, {2}}}, .fraction_bits = 0});
    difference.terms.push_back({doubled, {input == 0 ? 0.5 : -0.5}});
  }
  const std::vector<Function::Value> inputs{of_difference.add(difference)};
  of_difference.set_outputs(of_difference.add(function, inputs));
  ASSERT_EQ(of_difference.depth(), 12U);
  expect_whole(of_difference, 12, 12, 1);
  expect_whole(of_difference, 6, 6, 2);
}

TEST(FunctionStages, KeepOutputsOfAllStagesAndCoefficientsOfSlots) {
  Function function(std::vector<Interval>{{-1, 1}, {-2, 2}});
  const Values slots = ckks::random_values(64, 5);
  const auto a = function.add({.products = {{0, 1}}, .terms = {{0, slots}}, .constant = {0.5}});
  const auto b = function.add({.factor = 2, .products = {{a, a}}});
  function.add({.products = {{b, b}}});  // nothing needs it
  const auto c =
      function.add(b, Polynomial({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Basis::power, {-1, 1}, {.count = 2}));
  function.set_outputs({c + 1, a, 0});
  EXPECT_EQ(function.depth(), 5U);
  const std::vector<FunctionStage> stages = stages_of(function, 1, 3);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].outputs, std::vector<Function::Value>{a});
  EXPECT_EQ(stages[1].function.depth(), 1U);
  const Rows inputs{ckks::random_values(64, 6, 0.5), ckks::random_values(64, 7, 0.5)};
  const Rows whole = function.evaluate(inputs), found = [&] {
    std::map<Function::Value, Values> values{{0, inputs[0]}, {1, inputs[1]}};
    for (const FunctionStage& stage : stages) {
      Rows taken;
      for (const auto value : stage.inputs) taken.push_back(values.at(value));
      const Rows given = stage.function.evaluate(taken);
      for (std::size_t i = 0; i < given.size(); ++i) values[stage.outputs[i]] = given[i];
    }
    return Rows{values.at(c + 1), values.at(a), values.at(0)};
  }();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_LT(ckks::largest_difference(found[i], whole[i]),
              1e-12 * root_mean_square(whole[i], Values(64, 0)));
  }
}

TEST(FunctionStages, CountLevelsFromTheLastBootstrap) {
  // p ends a stage; what comes of it after the bootstrap, and of p itself, is one level down, then two.
  Function function(std::vector{Interval{}});
  const auto p = function.add(0, Polynomial(Values(8, 0.1), Basis::power));
  const auto q = function.add({.products = {{p, p}}});
  function.set_outputs({function.add({.products = {{p, q}}})});
  EXPECT_EQ(function.depth(), 5U);
  expect_whole(function, 3, 3, 2);
}

// The interval of the one value that the second stage takes, and its bound among the outputs of the first.
Interval between(Function function, Function::Value value) {
  function.set_outputs({function.add(value, Polynomial(Values(8, 0.1), Basis::power))});
  const std::vector<FunctionStage> stages = stages_of(function, function.depth() - 3, 3);
  EXPECT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages.back().inputs, std::vector{value});
  EXPECT_EQ(stages.front().outputs, std::vector{value});
  const Interval found = stages.back().function.inputs().front();
  EXPECT_EQ(stages.front().function.largest(),
            std::vector{std::max(std::abs(found.low), std::abs(found.high))});
  return found;
}

// The range of a sum of multiples is known: all inputs at those ends that make it large, or small.
TEST(FunctionStages, RangesOfSumsReachTheEndsOfAllInputs) {
  for (const std::size_t inputs : {1, 2, 3, 4, 5, 8}) {
    for (std::size_t signs = 0; signs < std::size_t{1} << inputs; signs += 1 + signs / 5) {
      SCOPED_TRACE(std::to_string(inputs) + " inputs, signs " + std::to_string(signs));
      Function function(std::vector<Interval>(inputs, {-1, 3}));
      Function::Sum sum;
      double low = 0.5, high = 0.5;
      for (std::size_t i = 0; i < inputs; ++i) {
        const double factor = (signs >> i & 1 ? -1.0 : 1.0) * static_cast<double>(i + 1);
        sum.terms.push_back({i, {factor}});
        low += std::min(-factor, 3 * factor);
        high += std::max(-factor, 3 * factor);
      }
      sum.constant = {0.5};
      const Interval found = between(function, function.add(sum));
      EXPECT_NEAR(found.low, low, 1e-9);
      EXPECT_NEAR(found.high, high, 1e-9);
    }
  }
}

// The largest value is that of inner places of all inputs: c - sum (x_i - p_i)^2.
TEST(FunctionStages, RangesHoldWhatInnerPlacesMake) {
  const std::vector<double> places = {0.31, -0.47, 0.72};
  for (std::size_t inputs = 1; inputs <= places.size(); ++inputs) {
    SCOPED_TRACE(inputs);
    Function function(std::vector<Interval>(inputs, {-1, 1}));
    Function::Sum sum{.factor = -1};
    double constant = 1, low = 1;
    for (std::size_t i = 0; i < inputs; ++i) {
      sum.products.push_back({i, i});
      sum.terms.push_back({i, {2 * places[i]}});
      constant -= places[i] * places[i];
      low -= std::pow(1 + std::abs(places[i]), 2);
    }
    sum.constant = {constant};
    const Interval found = between(function, function.add(sum));
    EXPECT_NEAR(found.low, low, 1e-9);
    EXPECT_NEAR(found.high, 1, 0.02);
    EXPECT_LE(found.high, 1);
  }
}

TEST(FunctionStages, RangesAreThoseOfAllSlots) {
  constexpr std::size_t slots = 64;
  for (const std::size_t slot : {0U, 1U, 37U, 63U}) {
    SCOPED_TRACE(slot);
    Values factors(slots, 0.25), others(slots, -0.25);
    factors[slot] = 5;
    others[slot] = -3;
    Function function({Interval{-1, 2}, Interval{-2, 1}});
    const Interval ends = between(function, function.add({.terms = {{0, factors}, {1, others}}}));
    EXPECT_NEAR(ends.low, -5 - 3, 1e-9);
    EXPECT_NEAR(ends.high, 10 + 6, 1e-9);
    // 4 - (4 - x^2) / 4 elsewhere, 4 - 5 (x - 0.3)^2 there.
    Values squares(slots, 0.25), lines(slots, 0), constants(slots, 3);
    squares[slot] = -5;
    lines[slot] = 3;
    constants[slot] = 4 - 0.45;
    Function inner(std::vector{Interval{-1, 1}});
    const auto square = inner.add({.products = {{0, 0}}});
    const auto sum = inner.add({.terms = {{square, squares}, {0, lines}}, .constant = constants});
    EXPECT_NEAR(between(inner, sum).high, 4, 0.05);
  }
}

TEST(FunctionStages, RefusePolynomialsThatAreDeeperThanABootstrap) {
  const Function function = sigmoid({-8, 8}, 0x1p-16);
  EXPECT_EQ(stages_of(function, 6, 6).size(), 1U);
  EXPECT_THROW(static_cast<void>(stages_of(function, 6, 5)), LevelError);
  EXPECT_THROW(static_cast<void>(stages_of(Function(std::vector{Interval{}}), 1, 1)), ParameterError);
}

}  // namespace
}  // namespace hemera::circuits::function_plans
