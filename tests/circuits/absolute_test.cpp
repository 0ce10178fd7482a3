// Rectifiers and absolute values beside those of the standard library, and their levels beside the papers'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "circuits/function_support.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::absolute_tests {
namespace {

std::vector<std::size_t> degrees_of(const Function& function) {
  std::vector<std::size_t> degrees;
  for (const auto& part : function.parts()) {
    const auto* of = std::get_if<Function::OfPolynomial>(&part);
    if (of != nullptr) degrees.push_back(of->polynomial.degree());
  }
  return degrees;
}

// Levels of J. Lee et al. (2022) with the degrees 7, 15, 15 and 15, 15, 27 of 2020/834, and one for x s(x).
TEST(Absolute, TakesTheLevelsOfThePapers) {
  const Function relu_11 = relu({-1, 1}, std::exp2(-11.1)), relu_13 = relu({-1, 1}, std::exp2(-13.3));
  EXPECT_EQ(relu_11.depth(), 12U);
  EXPECT_LE(relu_11.error(), std::exp2(-11.1));
  EXPECT_EQ(relu_13.depth(), 14U);
  EXPECT_LE(relu_13.error(), std::exp2(-13.3));
  EXPECT_EQ(maximum(std::exp2(-11.1)).depth(), relu_11.depth() + 2);
  EXPECT_EQ(maximum(std::exp2(-13.2)).depth(), relu_13.depth() + 2);
  // An absolute value is a bit less precise.
  EXPECT_EQ(absolute({-1, 1}, std::exp2(-10.1)).depth(), 12U);
  EXPECT_EQ(degrees_of(relu({-1, 1}, std::exp2(-13.1))), (std::vector<std::size_t>{15, 15, 27}));
}

TEST(Absolute, TakesFewProductsWhereThereAreLevels) {
  // 15, 15, 27 and 27, 7, 29 take 14 levels; the latter has a product less, and is less precise.
  const auto cheaper = degrees_of(relu({-1, 1}, 0x1p-13));
  EXPECT_EQ(relu({-1, 1}, 0x1p-13).depth(), 14U);
  EXPECT_NE(cheaper, (std::vector<std::size_t>{15, 15, 27}));
  const rlwe::Parameters parameters = ckks::small_parameters(14, 2, 45);
  const auto relinearizations = [&](double bits) {
    return FunctionPlan(parameters, relu({-1, 1}, std::exp2(-bits))).cost().key_products;
  };
  EXPECT_LT(relinearizations(13), relinearizations(13.3));
}

// 12 levels hold 2^-11.7 by a degree above 31, and 2^-11.85 too, for six products more than 13 levels take.
TEST(Absolute, TakesALevelMoreForFourProductsAtMost) {
  EXPECT_EQ(relu({-1, 1}, std::exp2(-11.7)).depth(), 12U);
  EXPECT_EQ(relu({-1, 1}, std::exp2(-11.85)).depth(), 13U);
}

TEST(Absolute, HasTheDegreesOfASearchOfAllRowsAndGaps) {
  EXPECT_EQ(degrees_of(relu({-1, 1}, 0x1p-18)), (std::vector<std::size_t>{15, 27, 27, 29}));
  EXPECT_EQ(degrees_of(relu({-64, 64}, 0x1p-6)), (std::vector<std::size_t>{7, 15, 27}));
}

struct AbsoluteCase {
  const char* name;
  Function (*make)(const Interval&, double);
  Interval interval;
  double tolerance;
  double slope;  // below 0
};

const std::vector<AbsoluteCase> absolute_cases = {
    {"Relu", relu, {-1, 1}, 0x1p-11, 0},
    {"ReluOfFewBits", relu, {-1, 1}, 0x1p-2, 0},
    {"ReluOfManyBits", relu, {-1, 1}, 0x1p-20, 0},
    {"ReluOfAWideInterval", relu, {-100, 100}, 0x1p-3, 0},
    {"ReluOfMostlyPositives", relu, {-1, 6}, 0x1p-7, 0},
    {"ReluOfMostlyNegatives", relu, {-3, 0.5}, 0x1p-7, 0},
    {"Absolute", absolute, {-5, 2}, 0x1p-6, -1},
    {"LeakyRelu", [](const Interval& x, double e) { return leaky_relu(x, 0.1, e); }, {-2, 2}, 0x1p-8, 0.1},
    {"OfANegativeSlope",
     [](const Interval& x, double e) { return leaky_relu(x, -0.5, e); },
     {-1, 2},
     0x1p-7,
     -0.5},
};

class AbsoluteTest : public ::testing::TestWithParam<AbsoluteCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, AbsoluteTest, ::testing::ValuesIn(absolute_cases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// The error is a bound, and not much more: of an even grid, one that is dense at 0, and random values.
TEST_P(AbsoluteTest, HasTheErrorThatItStates) {
  const auto& [name, make, interval, tolerance, slope] = GetParam();
  const Function function = make(interval, tolerance);
  const auto& [low, high] = interval;
  Values x = spread({low, high}, 1U << 15U);
  for (double t = 1; t > 1e-7; t *= 0.999) x.insert(x.end(), {t * low, t * high});
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(low, high);
  for (std::size_t i = 0; i < 4096; ++i) x.emplace_back(uniform(random));
  x.insert(x.end(), {low, high, 0.0});
  const Values found = function.evaluate(Rows{x}).front();
  double largest = 0, bound = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = x[i].real() > 0 ? x[i].real() : slope * x[i].real();
    largest = std::max(largest, std::abs(found[i].real() - exact));
    bound = std::max(bound, std::abs(exact));
  }
  EXPECT_LE(largest, function.error());
  EXPECT_GT(largest, 0.98 * function.error());
  EXPECT_DOUBLE_EQ(function.largest().front(), bound);
}

TEST_P(AbsoluteTest, IsEvaluatedOnCiphertexts) {
  const Function function = GetParam().make(GetParam().interval, GetParam().tolerance);
  const Values x = spread(GetParam().interval);
  const rlwe::Parameters parameters = ckks::small_parameters(function.depth(), 2, 45);
  const FunctionPlan plan(parameters, function);
  EXPECT_EQ(plan.ends().depth(), function.depth());
  const FunctionSession session(parameters);
  const Ciphertext y = session.run(plan, session.client.encrypt(x));
  EXPECT_EQ(y.meta.level, 0U);
  EXPECT_LT(session.client.error(y, function.evaluate(Rows{x}).front()), 10 * plan.expected_error().worst);
}

// To within a level, an interval costs nothing: a first polynomial of a low degree maps it by the scale.
TEST(Absolute, MapsIntervalsWithoutALevel) {
  const std::size_t depth = relu({-1, 1}, 0x1p-11).depth();
  for (const double largest : {0.25, 0.5, 1.5, 2.0, 4.0, 8.0}) {
    EXPECT_EQ(relu({-largest, largest}, largest * 0x1p-11).depth(), depth) << largest;
  }
  EXPECT_EQ(relu({-64, 64}, 64 * 0x1p-11).depth(), depth + 1);
  EXPECT_EQ(relu({-0.5, 8}, 8 * 0x1p-11).depth(), depth);
}

TEST(Absolute, IsLinearOnOneSide) {
  const auto value = [](const Function& function, double x) {
    return function.evaluate(Rows{{x}}).front().front().real();
  };
  for (const Interval& interval : {Interval{0, 2}, Interval{0.5, 2}}) {
    EXPECT_EQ(relu(interval, 0x1p-30).depth(), 0U);
    EXPECT_EQ(relu(interval, 0.1).error(), 0);
    EXPECT_EQ(value(relu(interval, 0.1), 1.5), 1.5);
    EXPECT_EQ(value(absolute(interval, 0.1), 1.5), 1.5);
    EXPECT_EQ(value(leaky_relu(interval, 0.1, 0.1), 1.5), 1.5);
  }
  for (const Interval& interval : {Interval{-2, 0}, Interval{-2, -0.5}}) {
    EXPECT_EQ(relu(interval, 0.1).depth(), 1U);
    EXPECT_EQ(relu(interval, 0.1).largest().front(), 0);
    EXPECT_EQ(value(relu(interval, 0.1), -1.5), 0);
    EXPECT_EQ(value(absolute(interval, 0.1), -1.5), 1.5);
    EXPECT_EQ(absolute(interval, 0.1).largest().front(), 2);
    EXPECT_EQ(value(leaky_relu(interval, 0.5, 0.1), -1.5), -0.75);
  }
  EXPECT_EQ(leaky_relu({-1, 1}, 1, 0x1p-30).depth(), 0U);
  EXPECT_EQ(value(leaky_relu({-1, 1}, 1, 0.1), -0.5), -0.5);
  // A function without a step, on ciphertexts.
  const rlwe::Parameters parameters = ckks::small_parameters(1, 2, 45);
  const FunctionPlan plan(parameters, relu({0, 2}, 0.1));
  EXPECT_EQ(plan.ends().depth(), 0U);
  const FunctionSession session(parameters);
  const Values x = spread({0, 2});
  EXPECT_LT(session.client.error(session.run(plan, session.client.encrypt(x)), x), 1e-6);
}

TEST(Absolute, SaysWhatItCanNot) {
  for (const double tolerance : {0.0, -1.0, HUGE_VAL, static_cast<double>(NAN), 0x1p-40}) {
    EXPECT_THROW(static_cast<void>(relu({-1, 1}, tolerance)), ParameterError) << tolerance;
    EXPECT_THROW(static_cast<void>(absolute({-1, 1}, tolerance)), ParameterError) << tolerance;
    EXPECT_THROW(static_cast<void>(leaky_relu({-1, 1}, 0.1, tolerance)), ParameterError) << tolerance;
  }
  for (const Interval& interval :
       {Interval{1, 1}, Interval{1, -1}, Interval{-1, HUGE_VAL}, Interval{NAN, 1}}) {
    EXPECT_THROW(static_cast<void>(relu(interval, 0.1)), ParameterError);
    EXPECT_THROW(static_cast<void>(absolute(interval, 0.1)), ParameterError);
  }
  EXPECT_THROW(static_cast<void>(leaky_relu({-1, 1}, NAN, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(leaky_relu({-1, 1}, HUGE_VAL, 0.1)), ParameterError);
}

// --- Signs of narrow gaps, whose first polynomials have errors near 1 ---

TEST(Absolute, SignsOfNarrowGapsHaveTheErrorThatTheyState) {
  for (const double bits : {12, 13, 14, 15, 17, 20}) {
    const double gap = std::exp2(-bits);
    const Function function = sign(gap, 0x1p-16);
    EXPECT_LE(function.error(), 0x1p-16);
    Values x;
    for (double t = 1; t > gap; t *= 0.998) x.emplace_back(t);
    x.emplace_back(gap);
    double largest = 0;
    const Values found = function.evaluate(Rows{x}).front();
    for (const Complex& y : found) largest = std::max(largest, std::abs(1.0 - y));
    EXPECT_LE(largest, function.error() * (1 + 1e-6)) << bits;
  }
  const Function larger = maximum(0x1p-20);
  EXPECT_LE(larger.error(), 0x1p-20);
  const Values a = spread({-1, 1}, 4096), b = spread({-1, 1}, 4096, 37);
  const Values found = larger.evaluate(Rows{a, b}).front();
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(found[i].real(), std::max(a[i].real(), b[i].real()), 0x1p-20);
  }
}

// --- Quotients ---

TEST(Divide, IsTheQuotient) {
  struct Quotient {
    Interval x, y;
    double tolerance;
    std::size_t more;  // levels than the inverse takes
  };
  for (const auto& [x, y, tolerance, more] : std::vector<Quotient>{{{-1, 1}, {0.5, 2}, 0x1p-12, 0},
                                                                   {{0, 30}, {-8, -4}, 0x1p-10, 0},
                                                                   {{-2, 1}, {0.004, 4}, 0x1p-6, 0},
                                                                   {{-1, 1}, {0.01, 1}, 0x1p-10, 1}}) {
    SCOPED_TRACE(y.low);
    const Function function = divide(x, y, tolerance);
    const double largest = std::max(std::abs(x.low), std::abs(x.high));
    EXPECT_LE(function.error(), tolerance);
    EXPECT_EQ(function.depth(), inverse(y, tolerance / largest).depth() + more);
    const Values a = spread(x, 8192), b = spread(y, 8192, 37);
    const Values found = function.evaluate(Rows{a, b}).front();
    double error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) error = std::max(error, std::abs(found[i] - a[i] / b[i]));
    EXPECT_LE(error, function.error());
    EXPECT_GT(error, function.error() / 16);
    EXPECT_DOUBLE_EQ(function.largest().front(), largest / std::min(std::abs(y.low), std::abs(y.high)));
  }
  EXPECT_THROW(static_cast<void>(divide({-1, 1}, {-1, 1}, 0.1)), ParameterError);
  EXPECT_THROW(static_cast<void>(divide({-1, 1}, {1, 2}, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(divide({1, 1}, {1, 2}, 0.1)), ParameterError);
}

TEST(Divide, IsEvaluatedOnCiphertexts) {
  for (const Interval& y : {Interval{0.5, 2}, Interval{0.004, 4}}) {
    const Function function = divide({-2, 1}, y, 0x1p-6);
    const Values a = spread({-2, 1}), b = spread(y, test_slots, 37);
    const FunctionSession session(ckks::small_parameters(function.depth(), 2, 45));
    const FunctionPlan plan(session.client.context->parameters(), function);
    const Ciphertext u = session.client.encrypt(a), v = session.client.encrypt(b);
    const Values found = session.client.decrypt(session.run(plan, std::vector{&u, &v}).front());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LT(std::abs(found[i] - a[i] / b[i]), function.error() + 10 * plan.expected_error().worst);
    }
  }
}

// --- Functions of others ---

TEST(Absolute, FunctionsAreAddedToOthers) {
  Function function({{-1, 1}, {-2, 2}});
  const auto difference = function.add({.terms = {{0, {1}}, {1, {-0.5}}}});
  const std::vector<Function::Value> inputs{difference, 1};
  const std::vector<Function::Value> outputs = function.add(maximum(0x1p-8, 2), inputs);
  ASSERT_EQ(outputs.size(), 1U);
  function.set_outputs(outputs);
  EXPECT_EQ(function.depth(), maximum(0x1p-8, 2).depth() + 1);
  EXPECT_EQ(function.depth_of(difference), 1U);
  EXPECT_NEAR(function.evaluate(Rows{{0.75}, {-1.0}}).front().front().real(), 1.25, 0x1p-8);
  EXPECT_NEAR(function.evaluate(Rows{{-0.75}, {1.0}}).front().front().real(), 1.0, 0x1p-8);
  EXPECT_THROW(function.add(maximum(0x1p-8, 2), std::vector<Function::Value>{0}), ParameterError);
  EXPECT_THROW(function.add(maximum(0x1p-8, 2), std::vector<Function::Value>{0, 1000}), ParameterError);
  EXPECT_THROW(static_cast<void>(function.depth_of(1000)), ParameterError);
  // One that does not fit leaves the function as it was.
  function.add({.terms = {{0, {1, 2}}}});
  Function wider(std::vector{Interval{-1, 1}});
  const auto first = wider.add({.terms = {{0, {1}}}});
  wider.set_outputs({wider.add({.terms = {{first, {1, 2, 3, 4}}}})});
  const std::size_t parts = function.parts().size();
  EXPECT_THROW(function.add(wider, std::vector<Function::Value>{0}), ParameterError);
  EXPECT_EQ(function.parts().size(), parts);
}

TEST(Absolute, PolynomialsMayMapByMoreBits) {
  const Polynomial wide({0, 1, 0, 1}, Basis::chebyshev, {-4, 4});
  EXPECT_TRUE(wide.maps_by_product());
  EXPECT_FALSE(wide.with_map_bits(4).maps_by_product());
  EXPECT_TRUE(wide.with_map_bits(3.9).maps_by_product());
  EXPECT_EQ(wide.with_map_bits(4).depth() + 1, wide.depth());
  EXPECT_THROW(static_cast<void>(wide.with_map_bits(-1)), ParameterError);
  EXPECT_THROW(static_cast<void>(wide.with_map_bits(NAN)), ParameterError);
  EXPECT_THROW(static_cast<void>(wide.with_map_bits(61)), ParameterError);
}

}  // namespace
}  // namespace hemera::circuits::absolute_tests
