// Functions as data: what they keep when they change or refuse to, the scales of their sums, and the type of
// their results.
#include "hemera/circuits/functions/function.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "circuits/function_support.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::function_tests {
namespace {

using Sum = Function::Sum;

rlwe::Parameters parameters(std::size_t depth) { return ckks::small_parameters(depth, 2); }

const Complex i(0, 1);

// --- What is kept ---

TEST(Function, IsAsItWasAfterARefusedPart) {
  const std::vector<Sum> refused = {
      {.products = {{0, 0}, {0, 7}}},
      {.terms = {{0, Values(4, i)}, {7, {1}}}},
      {.terms = {{7, Values(4, i)}}},
      {.terms = {{0, {i}}, {0, {NAN}}}},
      {.terms = {{0, {i}}, {0, {Complex(1, HUGE_VAL)}}}},
      {.terms = {{0, Values(4, i)}, {0, Values(8, 1)}}},
      {.terms = {{0, Values(4, i)}, {0, Values(3, 1)}}},
      {.terms = {{0, Values(4, i)}, {0, {}}}},
      {.terms = {{0, Values(4, i)}}, .constant = {NAN}},
      {.terms = {{0, Values(4, i)}}, .constant = Values(8, 1)},
      {.terms = {{0, Values(4, i)}}, .constant = {}},
      {.factor = 3, .terms = {{0, Values(4, i)}}},
      {.factor = 3, .products = {{0, 0}}},
      {.constant = Values(4, i)},
      {.terms = {{0, {1, 2, 3}}}},
      {},
  };
  EXPECT_THROW(Function(std::vector<Interval>{}), ParameterError);
  EXPECT_THROW(Function(std::vector{Interval{1, 1}}), ParameterError);
  for (std::size_t number = 0; number < refused.size(); ++number) {
    SCOPED_TRACE(number);
    Function function(std::vector{Interval{}});
    EXPECT_THROW(function.add(refused[number]), ParameterError);
    EXPECT_EQ(function.width(), 1U);
    EXPECT_TRUE(function.is_real());
    EXPECT_TRUE(function.parts().empty());
    // The next value has the next number, and coefficients of another number of slots fit.
    EXPECT_EQ(function.add({.terms = {{0, Values(16, 1)}}}), 1U);
    EXPECT_EQ(function.width(), 16U);
  }
  Function function(std::vector{Interval{}});
  const Polynomial wide(Values(8, i), Basis::chebyshev, {}, {.count = 1, .width = 4});
  EXPECT_THROW(function.add(1, wide), ParameterError);
  EXPECT_TRUE(function.is_real());
  EXPECT_EQ(function.width(), 1U);
  function.add({.terms = {{0, Values(8, 1)}}});
  EXPECT_THROW(function.add(0, wide), ParameterError);
  EXPECT_TRUE(function.is_real());
  EXPECT_EQ(function.width(), 8U);
  EXPECT_EQ(function.parts().size(), 1U);
}

TEST(Function, OtherOutputsHaveNoBoundsOfThoseBefore) {
  // 3 x is declared to be at most 1, as what it stands for may be.
  Function function(std::vector{Interval{-1, 1}});
  const auto three = function.add({.terms = {{0, {3}}}}), five = function.add({.terms = {{0, {5}}}});
  function.set_outputs({three});
  function.set_largest({1});
  EXPECT_THROW(function.set_largest({1, 2}), ParameterError);
  EXPECT_THROW(function.set_largest({}), ParameterError);
  EXPECT_THROW(function.set_outputs({five, 9}), ParameterError);
  EXPECT_THROW(function.set_outputs({}), ParameterError);
  EXPECT_EQ(function.outputs(), std::vector{three});
  EXPECT_EQ(function.largest(), std::vector<double>{1});
  const FunctionSession session(parameters(1));
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, 1), {}, {}, {}, 1), session.client.secret);
  const auto bounds = [&] {
    std::vector<double> largest;
    for (const Ciphertext& y : session.run(FunctionPlan(parameters(1), function), std::vector{&x})) {
      largest.push_back(y.meta.largest);
    }
    return largest;
  };
  EXPECT_EQ(bounds(), std::vector<double>{1});
  function.set_outputs({five});
  EXPECT_TRUE(function.largest().empty());
  EXPECT_EQ(bounds(), std::vector<double>{5});
  function.set_outputs({five, three});
  EXPECT_EQ(bounds(), (std::vector<double>{5, 3}));
}

TEST(Function, TakesRowsOfAsManyValuesAsItsCoefficientsHave) {
  Function function(std::vector<Interval>(2));
  const auto sum = function.add({.terms = {{0, Values(8, 2)}, {1, {1}}}});
  function.set_outputs({sum});
  const FunctionPlan plan(parameters(1), function);
  for (const std::size_t first : {0, 1, 4, 7, 8, 9, 16, 512}) {
    for (const std::size_t second : {first, std::size_t{8}}) {
      SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second));
      const Rows rows{Values(first, 0.5), Values(second, 0.25)};
      if (first == 8) {
        EXPECT_EQ(function.evaluate(rows).front(), Values(8, 1.25));
        EXPECT_EQ(plan.evaluate_clear(rows).front(), Values(8, 1.25));
        continue;
      }
      EXPECT_THROW(static_cast<void>(function.evaluate(rows)), ParameterError);
      EXPECT_THROW(static_cast<void>(plan.evaluate_clear(rows)), ParameterError);
    }
  }
  const Rows one{Values(8)}, three{Values(8), Values(8), Values(8)};
  EXPECT_THROW(static_cast<void>(function.evaluate(one)), ParameterError);
  EXPECT_THROW(static_cast<void>(function.evaluate(three)), ParameterError);
  EXPECT_THROW(static_cast<void>(function.evaluate(Rows{})), ParameterError);
}

TEST(Function, IsUnboundedWithoutChebyshevPolynomialsAlone) {
  const Polynomial powers({1, -3, 0, 0.5}, Basis::power), chebyshev({1, -3, 0, 0.5}, Basis::chebyshev);
  EXPECT_FALSE(Function(chebyshev).is_unbounded());
  Function function(powers);
  EXPECT_TRUE(function.is_unbounded());
  function.add(function.outputs().front(), powers);
  const auto sum = function.add({.products = {{0, 0}}});
  EXPECT_TRUE(function.is_unbounded());
  const std::vector<double> beyond{1.5}, within{1};
  EXPECT_NO_THROW(function.require_in_intervals(beyond));
  function.set_outputs({function.add(0, chebyshev)});
  EXPECT_FALSE(function.is_unbounded());
  EXPECT_THROW(function.require_in_intervals(beyond), RangeError);
  EXPECT_NO_THROW(function.require_in_intervals(within));
  // A Chebyshev polynomial that came before a power's counts, too.
  Function other(chebyshev);
  other.set_outputs({other.add(0, powers)});
  EXPECT_FALSE(other.is_unbounded());
  EXPECT_GT(sum, 0U);
}

// --- Scales ---

// Products of inputs whose scale is not their level's, beside sums that have it.
TEST(Function, ProductsOfOneSumHaveOneScale) {
  const rlwe::Parameters own = parameters(4);
  const FunctionSession session(own);
  const double usual = session.client.context->scales().level_scale(4);
  const Values x = spread({-1, 1}), y = spread({-1, 1}, test_slots, 7);
  const std::vector<std::vector<Function::Product>> sums = {
      // Sums of x^2, 3 x + 1, x y and x: the values 2, 3, 4 and 0.
      {{2, 2}, {3, 3}}, {{3, 3}, {2, 2}}, {{2, 4}, {3, 2}},         {{3, 2}, {2, 4}},
      {{2, 4}, {2, 0}}, {{0, 2}, {4, 4}}, {{2, 2}, {4, 4}, {2, 4}}, {{2, 4}, {2, 3}, {4, 0}},
      {{2, 3}, {3, 4}}, {{2, 2}, {3, 0}}, {{2, 2}, {3, 3}, {3, 2}}, {{0, 2}, {0, 4}, {3, 3}},
  };
  std::size_t refused = 0;
  for (const double factor : {1.0, 1.0 / 3, 1 - 0x1p-14}) {
    const double scale = factor * usual;
    const Ciphertext a =
        ckks::encrypt(session.client.encoder->encode(x, {}, 4, scale), session.client.secret);
    const Ciphertext b =
        ckks::encrypt(session.client.encoder->encode(y, {}, 4, scale), session.client.secret);
    for (std::size_t number = 0; number < sums.size(); ++number) {
      bool is_refused = false;
      for (const bool drift : {false, true}) {
        SCOPED_TRACE(std::to_string(factor) + ", sum " + std::to_string(number) + (drift ? ", drift" : ""));
        Function function(std::vector<Interval>(2));
        function.add({.products = {{0, 0}}});
        function.add({.terms = {{0, {3}}}, .constant = {1}});
        function.add({.products = {{0, 1}}});
        const auto sum = function.add({.products = sums[number], .terms = {{1, {0.5}}}, .constant = {0.25}});
        function.set_outputs({sum, function.add({.products = {{sum, 1}}})});
        const auto plan = [&]() -> std::optional<FunctionPlan> {
          try {
            return FunctionPlan(own, function, {.scale = scale, .results_drift = drift});
          } catch (const ScaleError&) {
            return std::nullopt;
          }
        }();
        // Scales that drift are the levels' where they do not come together.
        if (!drift) is_refused = !plan;
        EXPECT_TRUE(plan || is_refused);
        if (!plan) {
          ++refused;
          EXPECT_NE(factor, 1);
          continue;
        }
        Values expected(test_slots);
        for (std::size_t slot = 0; slot < test_slots; ++slot) {
          const std::vector<Complex> values = {x[slot], y[slot], x[slot] * x[slot], 3.0 * x[slot] + 1.0,
                                               x[slot] * y[slot]};
          expected[slot] = 0.5 * y[slot] + 0.25;
          for (const auto& [left, right] : sums[number]) expected[slot] += values[left] * values[right];
        }
        const std::vector<Ciphertext> found = session.run(*plan, {&a, &b});
        EXPECT_LT(session.client.error(found[0], expected), 16 * ckks::tolerance);
        for (std::size_t slot = 0; slot < test_slots; ++slot) expected[slot] *= y[slot];
        EXPECT_LT(session.client.error(found[1], expected), 16 * ckks::tolerance);
      }
    }
  }
  // What can not be brought to one scale is said, and is the exception.
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, sums.size() * 2);
}

TEST(Function, IsPlannedForScalesFromOneUpToHalfOfTheModulus) {
  const rlwe::Parameters own = parameters(3);
  Function function(std::vector{Interval{}});
  function.set_outputs({0});
  for (const std::size_t level : {0U, 2U, 3U}) {
    SCOPED_TRACE(level);
    const double half = std::exp2(own.log_modulus(level) - 1);
    for (const double scale : {1.0, 1.5, half * (1 - 1e-9)}) {
      const FunctionPlan plan(own, function, {.level = level, .scale = scale});
      EXPECT_EQ(plan.scale(), scale);
      EXPECT_EQ(plan.results().front().scale, scale);
    }
    for (const double scale : {0.0, -1.0, 1 - 1e-15, half * (1 + 1e-9), HUGE_VAL, std::nan("")}) {
      EXPECT_THROW(FunctionPlan(own, function, {.level = level, .scale = scale}), ParameterError) << scale;
    }
  }
}

// --- Types ---

TEST(Function, ComplexCoefficientsMakeTheResultsThatTakeThemComplex) {
  const std::size_t slots = 8;
  Values last_is_complex(slots, 1);
  last_is_complex.back() = {1, 0.5};
  const std::vector<Sum> complex_sums = {
      {.terms = {{0, {i}}}},
      {.terms = {{0, {1}}, {0, {Complex(1, -1)}}}},
      {.terms = {{0, last_is_complex}}},
      {.terms = {{0, {1}}}, .constant = {i}},
      {.products = {{0, 0}}, .constant = {i}},
      {.products = {{0, 0}}, .terms = {{0, {i}}}},
      {.products = {{0, 0}}, .constant = last_is_complex},
  };
  const FunctionSession session(parameters(4));
  const Ciphertext x = session.client.encrypt(Values(slots, 0.5));
  ASSERT_FALSE(x.meta.is_complex);
  const auto types = [&](const Function& function, const Ciphertext& input) {
    std::vector<bool> found;
    for (const Ciphertext& y : session.run(FunctionPlan(parameters(4), function), std::vector{&input})) {
      found.push_back(y.meta.is_complex);
    }
    return found;
  };
  for (std::size_t number = 0; number < complex_sums.size(); ++number) {
    SCOPED_TRACE(number);
    Function function(std::vector{Interval{}});
    const auto sum = function.add(complex_sums[number]);
    const auto real = function.add({.products = {{0, 0}}, .terms = {{0, {2}}}, .constant = Values(slots, 1)});
    const auto after = function.add({.terms = {{sum, {2}}}});
    function.set_outputs({sum, real, after, 0});
    EXPECT_EQ(types(function, x), (std::vector<bool>{true, false, true, false}));
  }
  for (const Basis basis : {Basis::power, Basis::chebyshev}) {
    for (std::size_t power = 0; power < 6; ++power) {
      SCOPED_TRACE(power);
      // Two polynomials, of which the second has one complex coefficient.
      Values coefficients(12, 0.125);
      coefficients[6 + power] = {0.125, 0.25};
      const Function function(Polynomial(coefficients, basis, {}, {.count = 2}));
      EXPECT_EQ(types(function, x), (std::vector<bool>{false, true}));
    }
  }
  // Complex inputs make complex results whatever the coefficients.
  Ciphertext z = session.client.encrypt(Values(slots, 0.5));
  z.meta.is_complex = true;
  Function function(std::vector{Interval{}});
  const auto square = function.add({.products = {{0, 0}}});
  function.set_outputs({square, 0});
  EXPECT_EQ(types(function, z), (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace hemera::circuits::function_tests
