// Polynomials of encrypted values, beside their sums in the clear.
#include "hemera/circuits/functions/polynomial.hpp"

#include <gtest/gtest.h>

#include "circuits/function_support.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::circuits::polynomial_tests {
namespace {

rlwe::Parameters parameters(std::size_t depth = 7) { return ckks::small_parameters(depth, 2); }

// Coefficients that fall, as those of smooth functions do.
Values falling(std::size_t degree, bool is_complex = false) {
  Values coefficients = ckks::random_values(degree + 1, degree + 17);
  for (std::size_t k = 0; k <= degree; ++k) {
    if (!is_complex) coefficients[k] = coefficients[k].real();
    coefficients[k] *= std::exp(-static_cast<double>(k) / 16);
  }
  coefficients[degree] = 0.25;
  return coefficients;
}

// The sum by the definition of the basis: no Horner, no Clenshaw.
Complex sum(const Values& coefficients, Basis basis, const Interval& interval, Complex x) {
  Complex result = 0;
  const Complex t = (2.0 * x - interval.low - interval.high) / (interval.high - interval.low);
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    const auto n = static_cast<double>(k);
    result += coefficients[k] * (basis == Basis::power ? std::pow(x, n) : std::cos(n * std::acos(t)));
  }
  return result;
}

struct Case {
  const char* name;
  std::size_t degree;
  Basis basis = Basis::chebyshev;
  Interval interval = {};
  bool is_complex = false;
  std::size_t depth = 0;
};

class PolynomialTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PolynomialTest,
    ::testing::Values(
        Case{"Linear", 1, Basis::power, {}, false, 1}, Case{"Square", 2, Basis::power, {}, false, 2},
        Case{"Cube", 3, Basis::power, {}, true, 2}, Case{"Degree7", 7, Basis::chebyshev, {}, false, 3},
        Case{"Degree8", 8, Basis::chebyshev, {}, false, 4}, Case{"Degree15", 15, Basis::power, {}, false, 4},
        Case{"Degree15Complex", 15, Basis::chebyshev, {}, true, 4},
        Case{"Degree63", 63, Basis::chebyshev, {}, false, 6},
        Case{"WideInterval", 31, Basis::chebyshev, {-8, 8}, false, 6},
        Case{"IntervalOfTheScale", 31, Basis::chebyshev, {-1.05, 0.95}, false, 5},
        Case{"PowersOfAnInterval", 7, Basis::power, {-2, 1}, false, 3}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(PolynomialTest, IsItsSum) {
  const auto& [name, degree, basis, interval, is_complex, depth] = GetParam();
  const Values coefficients = falling(degree, is_complex);
  const Polynomial polynomial(coefficients, basis, interval);
  EXPECT_EQ(polynomial.depth(), depth);
  const FunctionPlan plan(parameters(), Function(polynomial));
  const Values x = spread(interval);
  Values expected;
  for (const Complex& value : x) expected.push_back(sum(coefficients, basis, interval, value));

  const Rows inputs{x};
  EXPECT_LT(ckks::largest_difference(plan.function().evaluate(inputs).front(), expected), 1e-12);
  EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(inputs).front(), expected), 1e-11);

  const FunctionSession session(parameters());
  const Ciphertext y = session.run(plan, session.client.encrypt(x));
  EXPECT_EQ(y.meta.level, plan.level() - depth);
  EXPECT_EQ(y.meta.scale, session.client.context->scales().level_scale(y.meta.level));
  EXPECT_EQ(y.meta.noise_scale_degree, 1);
  const Values found = session.client.decrypt(y);
  // Root mean squares of 512 slots: what the model says, but for the few at the ends, where high
  // degrees are steep.
  const double error = root_mean_square(found, expected), modelled = plan.expected_error().mean;
  EXPECT_LT(std::abs(std::log2(error / modelled)), 1) << std::log2(error) << " " << std::log2(modelled);
}

TEST(Polynomial, TakesFewRelinearizations) {
  const auto key_products = [](const Values& coefficients) {
    const FunctionPlan plan(parameters(), Function(Polynomial(coefficients, Basis::chebyshev)));
    EXPECT_EQ(plan.cost().key_products, plan.cost().mod_ups);
    EXPECT_EQ(plan.cost().key_products, plan.cost().divisions);
    return plan.cost().key_products;
  };
  // Products of one level are relinearized as one sum: fewer than the products of baby and giant steps.
  EXPECT_LE(key_products(falling(7)), 4U);
  EXPECT_LE(key_products(falling(15)), 7U);
  EXPECT_LE(key_products(falling(31)), 10U);
  EXPECT_LE(key_products(falling(63)), 15U);
  EXPECT_LE(key_products(falling(127)), 22U);
  // Odd polynomials need no even baby steps but those of their products.
  Values odd = falling(63);
  for (std::size_t k = 0; k <= 63; k += 2) odd[k] = 0;
  EXPECT_LT(key_products(odd), key_products(falling(63)));
  // A key is needed where there are products of ciphertexts alone.
  const FunctionPlan linear(parameters(), Function(Polynomial(falling(1), Basis::power)));
  EXPECT_TRUE(linear.needed_keys().empty());
  EXPECT_EQ(linear.cost().key_products, 0U);
  EXPECT_EQ(linear.cost().rescales, 1U);
}

TEST(Polynomial, HasKeysOfItsLevelsAloneWhereItIsTold) {
  const rlwe::Parameters own = parameters(4);
  const FunctionPlan plan(own, Function(Polynomial(falling(7), Basis::chebyshev)), {.own_keys = true});
  ASSERT_EQ(plan.needed_keys().size(), 3U);  // squares, cubes and their product, a level each
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.needed_keys()[i].gadget.base, own.literal().levels.at(4 - i));
  }
  const ckks::Session client(own, {.public_key = true, .relinearization = false});
  const rlwe::EvaluationKeys keys = generate_needed_keys(client.secret, plan.needed_keys());
  EXPECT_EQ(keys.memory_bytes(), plan.cost().key_bytes);
  const ckks::Evaluator evaluator(client.context, keys);
  const Values x = spread({});
  const Ciphertext input = client.encrypt(x);
  const std::vector inputs{&input};
  EXPECT_LT(client.error(PreparedFunction(client.context, plan)(evaluator, inputs).front(),
                         plan.function().evaluate(Rows{x}).front()),
            ckks::tolerance);
}

// Each with its own coefficients: the slots', the batch's.
TEST(Polynomial, HasCoefficientsForEachSlot) {
  const std::size_t slots = 64, degree = 6;
  const Values coefficients = ckks::random_values((degree + 1) * slots, 5);
  const Interval interval{-3, 3};
  const Polynomial polynomial(coefficients, Basis::chebyshev, interval, {.count = 1, .width = slots});
  const rlwe::Parameters own = parameters(4);
  const FunctionPlan plan(own, Function(polynomial));
  EXPECT_EQ(plan.function().width(), slots);
  const Values x = spread(interval, slots);
  const FunctionSession session(own);
  const Values found = session.client.decrypt(session.run(plan, session.client.encrypt(x)));
  for (std::size_t slot = 0; slot < slots; ++slot) {
    Values of_slot;
    for (std::size_t k = 0; k <= degree; ++k) of_slot.push_back(coefficients[k * slots + slot]);
    EXPECT_LT(std::abs(found[slot] - sum(of_slot, Basis::chebyshev, interval, x[slot])), ckks::tolerance);
  }
  EXPECT_GT(plan.cost().plaintext_bytes, 2 * slots * degree * sizeof(double));
  const Ciphertext narrow = session.client.encrypt(spread(interval, slots / 2));
  EXPECT_THROW(static_cast<void>(session.run(plan, narrow)), MismatchError);
}

// The values of several polynomials, one after the other, of two ciphertexts on [-1, 1].
void expect_sums(const FunctionPlan& plan, const Values& coefficients, std::size_t count, Basis basis) {
  const FunctionSession session(parameters(), rlwe::Relinearization::lazy);
  const Values x = spread({}, 2 * test_slots, 3);
  const Ciphertext input = session.client.encrypt(x, {2});
  const auto found = session.run(plan, std::vector{&input});
  ASSERT_EQ(found.size(), count);
  const auto powers = static_cast<std::ptrdiff_t>(coefficients.size() / count);
  for (std::size_t which = 0; which < count; ++which) {
    EXPECT_EQ(found[which].meta.level, plan.results()[which].level);
    EXPECT_EQ(found[which].meta.batch, (rlwe::BatchShape{2}));
    const auto first = coefficients.begin() + static_cast<std::ptrdiff_t>(which) * powers;
    const Values own(first, first + powers);
    Values expected;
    for (const Complex& value : x) expected.push_back(sum(own, basis, {}, value));
    EXPECT_LT(session.client.error(found[which], expected), ckks::tolerance);
  }
}

TEST(Polynomial, SeveralShareTheirPowers) {
  const std::size_t count = 3, degree = 15;
  Values coefficients;
  for (std::size_t which = 0; which < count; ++which) {
    const Values own = ckks::random_values(degree + 1, which);
    coefficients.insert(coefficients.end(), own.begin(), own.end());
  }
  // A constant, and one of low degree.
  for (std::size_t k = 1; k <= degree; ++k) coefficients[k] = 0;
  for (std::size_t k = 4; k <= degree; ++k) coefficients[degree + 1 + k] = 0;
  const FunctionPlan plan(parameters(), Function(Polynomial(coefficients, Basis::chebyshev, {}, {count, 1})));
  const FunctionPlan one(
      parameters(),
      Function(Polynomial(Values(coefficients.end() - degree - 1, coefficients.end()), Basis::chebyshev)));
  EXPECT_LE(plan.cost().key_products, one.cost().key_products + 2);
  expect_sums(plan, coefficients, count, Basis::chebyshev);
}

// Many take their powers from multiples of the number of baby steps as well: 7 powers to x^8 and 7 from x^16
// to x^64, and a sum of products each.
TEST(Polynomial, ManyTakeOneRelinearizationEach) {
  constexpr std::size_t count = 5, degree = 64;
  for (const Basis basis : {Basis::power, Basis::chebyshev}) {
    for (const bool is_complex : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(basis)) + (is_complex ? " complex" : " real"));
      Values coefficients;
      for (std::size_t which = 0; which < count; ++which) {
        Values own = falling(degree, is_complex);
        own[3] = static_cast<double>(which);
        if (which == 1) std::fill(own.begin() + 1, own.end(), Complex(0));   // a constant
        if (which == 2) std::fill(own.begin() + 21, own.end(), Complex(0));  // of degree 20
        if (which == 3) own[17] = own[24] = own[0] = 0;                      // other terms
        if (which == 4) own[18] = 0;  // as many terms as the one before
        coefficients.insert(coefficients.end(), own.begin(), own.end());
      }
      const FunctionPlan plan(parameters(), Function(Polynomial(coefficients, basis, {}, {count, 1})));
      EXPECT_EQ(plan.cost().key_products, 14 + count - 1);
      expect_sums(plan, coefficients, count, basis);
    }
  }
}

// Levels that drop other primes than they have more, so that going down rescales; levels of circuits below.
TEST(Polynomial, FollowsChainsByBits) {
  rlwe::Parameters own = ckks::parameters_from_drops(
      {.degree = 1024,
       .last_bits = 80,
       .drops = {34, 40, 40, 40, 40, 40, 40},
       .purposes = {rlwe::LevelPurpose::slots_to_coefficients, rlwe::LevelPurpose::user,
                    rlwe::LevelPurpose::user, rlwe::LevelPurpose::user, rlwe::LevelPurpose::user,
                    rlwe::LevelPurpose::user, rlwe::LevelPurpose::user, rlwe::LevelPurpose::eval_mod},
       .scale = 0x1p40,
       .security = std::nullopt});
  const FunctionPlan plan(own, Function(Polynomial(falling(31), Basis::chebyshev)));
  EXPECT_EQ(plan.level(), 6U);
  const FunctionSession session(own);
  const Values x = spread({});
  const Ciphertext y = session.run(plan, session.client.encrypt(x));
  EXPECT_EQ(y.meta.level, 1U);
  EXPECT_EQ(y.meta.scale, session.client.context->scales().level_scale(1));
  EXPECT_LT(session.client.error(y, plan.function().evaluate(Rows{x}).front()), ckks::tolerance);
  EXPECT_THROW(FunctionPlan(own, Function(Polynomial(falling(32), Basis::chebyshev))), LevelError);
}

// Three primes a level, and scales beyond the bits of a double.
TEST(Polynomial, TakesScalesOfSeveralPrimes) {
  const rlwe::Parameters own = ckks::small_parameters(4, 2, 100);
  const FunctionPlan plan(own, Function(Polynomial(falling(15, true), Basis::chebyshev)));
  const FunctionSession session(own);
  const Values x = spread({});
  const Ciphertext y = session.run(plan, session.client.encrypt(x));
  EXPECT_EQ(y.meta.scale, session.client.context->scales().level_scale(0));
  EXPECT_LT(session.client.error(y, plan.function().evaluate(Rows{x}).front()), 1e-12);
}

TEST(Polynomial, MayBeConstant) {
  const rlwe::Parameters own = parameters(1);
  const FunctionSession session(own);
  const Values x = spread({});
  for (const Values& coefficients : {Values{Complex(3, -1)}, Values{0, 0, 0}, Values{2.5, 0}}) {
    const FunctionPlan plan(own, Function(Polynomial(coefficients, Basis::power)));
    EXPECT_EQ(plan.ends().depth(), 1U);
    EXPECT_LT(session.client.error(session.run(plan, session.client.encrypt(x)),
                                   Values(test_slots, coefficients.front())),
              ckks::tolerance);
  }
}

TEST(Polynomial, KeepsDeclaredBounds) {
  const rlwe::Parameters own = ckks::parameters_for(
      {.depth = 3, .scale_bits = 40, .slots = 512, .largest = 4, .degree = 1024, .security = std::nullopt});
  // Coefficients and values in between may exceed the bound of what is encoded.
  const Values coefficients{1, 0, 0, 6};
  const FunctionPlan plan(own, Function(Polynomial(coefficients, Basis::chebyshev, {-4, 4})));
  const FunctionSession session(own);
  const Values x = spread({-4, 4});
  const Ciphertext y = session.run(plan, session.client.encrypt(x));
  EXPECT_EQ(y.meta.largest, 7);
  EXPECT_LT(session.client.error(y, plan.function().evaluate(Rows{x}).front()), ckks::tolerance);
}

TEST(Polynomial, RefusesWhatDoesNotFit) {
  const Values two{1, 2};
  EXPECT_THROW(Polynomial({}, Basis::power), ParameterError);
  EXPECT_THROW(Polynomial({1, NAN}, Basis::power), ParameterError);
  EXPECT_THROW(Polynomial({1, Complex(0, INFINITY)}, Basis::power), ParameterError);
  EXPECT_THROW(Polynomial(two, Basis::power, {1, 1}), ParameterError);
  EXPECT_THROW(Polynomial(two, Basis::power, {1, -1}), ParameterError);
  EXPECT_THROW(Polynomial(two, Basis::power, {0, INFINITY}), ParameterError);
  EXPECT_THROW(Polynomial(two, Basis::power, {NAN, 1}), ParameterError);
  EXPECT_THROW(Polynomial({1, 2, 3}, Basis::power, {}, {.count = 2}), ParameterError);
  EXPECT_THROW(Polynomial({1, 2, 3}, Basis::power, {}, {.width = 3}), ParameterError);
  EXPECT_THROW(Polynomial(two, Basis::power, {}, {.count = 0}), ParameterError);

  const rlwe::Parameters own = parameters(3);
  const Function cubic(Polynomial(falling(3), Basis::chebyshev));
  tests::expect_error<LevelError>(
      [&] { FunctionPlan(own, Function(Polynomial(falling(8), Basis::chebyshev))); }, {"depth 4"});
  EXPECT_THROW(FunctionPlan(own, cubic, {.level = 1}), LevelError);
  EXPECT_THROW(FunctionPlan(own, cubic, {.level = 4}), LevelError);
  EXPECT_THROW(FunctionPlan(own, cubic, {.slots = 3}), ParameterError);
  EXPECT_THROW(FunctionPlan(own, cubic, {.slots = 1024}), ParameterError);
  EXPECT_THROW(FunctionPlan(own, cubic, {.scale = 0.5}), ParameterError);
  EXPECT_THROW(FunctionPlan(own, Function(std::vector<Interval>{{}})), ParameterError);

  const FunctionPlan plan(own, cubic);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear({})), ParameterError);
}

// Two inputs, products of different levels, factors, terms and constants of slots.
TEST(Function, IsASumOfProducts) {
  const std::size_t slots = 32;
  const Values weights = ckks::random_values(slots, 8);
  Function function(std::vector<Interval>{{-1, 1}, {0, 2}});
  const auto first = function.add({.factor = 2, .products = {{0, 1}, {1, 1}}, .terms = {{0, weights}}});
  const auto second = function.add({.factor = -1, .products = {{first, 1}}, .constant = weights});
  const auto third = function.add({.terms = {{second, {Complex(0, 2)}}, {0, {1.5}}}, .constant = {-1}});
  function.set_outputs({third, first});
  EXPECT_EQ(function.depth(), 3U);
  EXPECT_EQ(function.width(), slots);
  const rlwe::Parameters own = parameters(4);
  const FunctionPlan plan(own, function);
  EXPECT_EQ(plan.ends().depth(), 3U);
  EXPECT_EQ(plan.cost().products, 2U * 2U + 1U);  // twice a product is the sum of two
  EXPECT_EQ(plan.cost().key_products, 2U);
  const Values x = spread({-1, 1}, slots), y = spread({0, 2}, slots, 5);
  Values f(slots), h(slots);
  for (std::size_t i = 0; i < slots; ++i) {
    f[i] = 2.0 * (x[i] * y[i] + y[i] * y[i]) + weights[i] * x[i];
    h[i] = Complex(0, 2) * (weights[i] - f[i] * y[i]) + 1.5 * x[i] - 1.0;
  }
  const Rows inputs{x, y};
  EXPECT_LT(ckks::largest_difference(function.evaluate(inputs)[0], h), 1e-13);
  EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(inputs)[0], h), 1e-13);
  const FunctionSession session(own);
  const Ciphertext a = session.client.encrypt(x), b = session.client.encrypt(y);
  const auto found = session.run(plan, std::vector{&a, &b});
  EXPECT_LT(session.client.error(found[0], h), ckks::tolerance);
  EXPECT_LT(session.client.error(found[1], f), ckks::tolerance);
  EXPECT_EQ(found[1].meta.level, 3U);
  EXPECT_EQ(found[0].meta.scale, session.client.context->scales().level_scale(1));
}

// Products of one sum come to one scale by that of a factor's coefficients.
TEST(Function, FitsProductsByTheScalesOfCoefficients) {
  Function function(std::vector<Interval>{{-1, 1}});
  const auto square = function.add({.products = {{0, 0}}});
  const auto cube = function.add({.products = {{square, 0}}});
  const auto left = function.add({.terms = {{0, {0.5}}}, .constant = {0.25}});
  const auto inner = function.add({.products = {{left, 0}}, .terms = {{square, {-0.75}}}});
  const auto sum = function.add({.products = {{cube, square}, {inner, cube}}, .constant = {-0.5}});
  function.set_outputs({sum});
  const rlwe::Parameters own = parameters(4);
  const FunctionPlan exact(own, function), drifting(own, function, {.results_drift = true});
  EXPECT_EQ(drifting.cost().rescales, 1U);
  EXPECT_GT(exact.cost().rescales, 3U);
  const FunctionSession session(own);
  const Values x = spread({-1, 1});
  const Ciphertext found = session.run(drifting, session.client.encrypt(x));
  EXPECT_LT(session.client.error(found, function.evaluate(Rows{x})[0]), ckks::tolerance);
}

}  // namespace
}  // namespace hemera::circuits::polynomial_tests
