// Declared bounds of values (Metadata::largest) in functions and bootstraps: what is
// beyond an interval is refused, and results carry bounds that formulas give.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>

#include "circuits/function_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::circuits {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

rlwe::Parameters deep(std::size_t depth) { return ckks::small_parameters(depth, 2); }

Ciphertext encrypt(const FunctionSession& session, const Values& values, double largest) {
  const auto plain = session.client.encoder->encode(values, {}, {}, {}, largest);
  return ckks::encrypt(plain, session.client.secret);
}

TEST(DeclaredBounds, ResultsOfFunctionsHaveThoseOfWhatTheyStandFor) {
  struct Case {
    Function function;
    double given, expected;
  };
  const std::vector<Case> cases = {
      {sigmoid({-8, 8}, 0x1p-8), 8, 1 / (1 + std::exp(-8))},
      {hyperbolic_tangent({-4, 2}, 0x1p-8), 3, std::tanh(4)},
      {exponential({-2, 1}, 0x1p-8), 2, std::exp(1)},
      {logarithm({0.25, 2}, 0x1p-8), 2, std::log(4)},
      {inverse({0.5, 2}, 0x1p-8), 1, 2},
      {inverse({-4, -2}, 0x1p-8), 4, 0.5},
      {square_root({1, 9}, 0x1p-4), 9, 3},
      {gelu({-4, 2}, 0x1p-6), 4, 2 * 0.5 * std::erfc(-2 / std::sqrt(2))},
      {sign(0.25, 0x1p-4, 3), 3, 1},
      {clip({-1, 2}, 0x1p-2, 6), 6, 2},
      {clipped(sigmoid, {-2, 2}, 0x1p-3, 6), 5, 1 / (1 + std::exp(-2))},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const Function& function = cases[i].function;
    const rlwe::Parameters parameters = deep(function.depth());
    const FunctionSession session(parameters);
    const FunctionPlan plan(parameters, function);
    const Values x(test_slots, 1);
    // A clipped function has the largest value of the approximation.
    const double slack = i + 1 == cases.size() ? function.error() : 1e-6;
    EXPECT_NEAR(session.run(plan, encrypt(session, x, cases[i].given)).meta.largest, cases[i].expected,
                slack);
    EXPECT_EQ(session.run(plan, encrypt(session, x, infinite)).meta.largest, infinite);
  }
}

TEST(DeclaredBounds, BeyondAnIntervalAreRefusedBeforeTheFirstStep) {
  const Function function = sigmoid({-2, 8}, 0x1p-6);
  const rlwe::Parameters parameters = deep(function.depth());
  const FunctionSession session(parameters);
  const FunctionPlan plan(parameters, function);
  const Values x(test_slots, 0.5);
  const auto run = [&](double largest) {
    return tests::refusal<RangeError>([&] { return session.run(plan, encrypt(session, x, largest)); });
  };
  EXPECT_EQ(run(8), "");
  EXPECT_EQ(run(8 * (1 + 0x1p-30)), "");  // the rounding of bounds
  EXPECT_TRUE(tests::says(run(8.01), "up to 8.01 are declared, and its interval is from -2 to 8"));
  EXPECT_TRUE(tests::says(run(1e12), "up to 1e+12"));
  EXPECT_TRUE(tests::says(run(8.01), "clips"));
}

TEST(DeclaredBounds, EachInputHasItsOwn) {
  const Function function = maximum(0x1p-3, 4);
  const rlwe::Parameters parameters = deep(function.depth());
  const FunctionSession session(parameters);
  const FunctionPlan plan(parameters, function);
  const Values x(test_slots, 0.5);
  const auto largest_of = [&](double a, double b) {
    const Ciphertext left = encrypt(session, x, a), right = encrypt(session, x, b);
    return session.run(plan, std::vector{&left, &right}).front().meta.largest;
  };
  EXPECT_EQ(largest_of(1, 4), 4);
  EXPECT_EQ(largest_of(1, infinite), infinite);
  EXPECT_EQ(largest_of(infinite, 1), infinite);
  EXPECT_EQ(largest_of(infinite, infinite), infinite);
  EXPECT_THROW(static_cast<void>(largest_of(1, 5)), RangeError);
  EXPECT_THROW(static_cast<void>(largest_of(5, 1)), RangeError);
  EXPECT_THROW(static_cast<void>(largest_of(infinite, 5)), RangeError);
}

// Intervals that differ, the widest and the narrowest at every place.
TEST(DeclaredBounds, AreThoseOfTheirOwnInterval) {
  const std::vector<std::vector<Interval>> orders = {
      {{-1, 1}, {-8, 2}, {0.5, 4}}, {{0.5, 4}, {-1, 1}, {-8, 2}}, {{-8, 2}, {0.5, 4}, {-1, 1}}};
  for (const auto& intervals : orders) {
    Function function(intervals);
    function.set_outputs({function.add({.terms = {{0, {1}}, {1, {1}}, {2, {1}}}})});
    function.set_error(0.01);  // or sums of powers are right everywhere
    std::vector<double> ends;
    for (const auto& [low, high] : intervals) ends.push_back(std::max(std::abs(low), std::abs(high)));
    EXPECT_EQ(tests::refusal<RangeError>([&] { function.require_in_intervals(ends); }), "");
    for (std::size_t i = 0; i < ends.size(); ++i) {
      SCOPED_TRACE(ends[i]);
      std::vector<double> beyond = ends, unknown = ends;
      beyond[i] *= 1.001;
      char interval[100];
      std::snprintf(interval, sizeof(interval), "from %.6g to %.6g,", intervals[i].low, intervals[i].high);
      tests::expect_error<RangeError>([&] { function.require_in_intervals(beyond); }, {interval});
      unknown[i] = infinite;
      EXPECT_EQ(tests::refusal<RangeError>([&] { function.require_in_intervals(unknown); }), "");
    }
    const rlwe::Parameters parameters = deep(2);
    const FunctionSession session(parameters);
    const FunctionPlan plan(parameters, function);
    const auto run = [&](const std::vector<double>& largest) {
      std::vector<Ciphertext> inputs;
      for (const double bound : largest) inputs.push_back(encrypt(session, Values(test_slots, 0.5), bound));
      const std::vector<const Ciphertext*> pointers{&inputs[0], &inputs[1], &inputs[2]};
      return session.client.decrypt(session.run(plan, pointers).front()).front().real();
    };
    EXPECT_NEAR(run(ends), 1.5, 0.01);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      std::vector<double> beyond = ends;
      beyond[i] += 0.5;
      EXPECT_THROW(static_cast<void>(run(beyond)), RangeError) << i;
    }
  }
}

TEST(DeclaredBounds, InputsOfOtherSlotsSpread) {
  const Function function = compare(0.5, 0x1p-3);
  const rlwe::Parameters parameters = deep(function.depth());
  const FunctionSession session(parameters);
  const FunctionPlan plan(parameters, function);
  const Values one{0.1}, eight{-1, 1, -0.8, 0.9, -0.6, 0.7, 1, -1};
  const Ciphertext single = session.client.encrypt(one), several = session.client.encrypt(eight);
  for (const bool is_first : {true, false}) {
    const auto inputs = is_first ? std::vector{&single, &several} : std::vector{&several, &single};
    const std::vector<Ciphertext> results = session.run(plan, inputs);
    const Ciphertext& found = results.front();
    ASSERT_EQ(found.meta.slots, 8U);
    const Values values = session.client.decrypt(found);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(values[i].real(), (0.1 > eight[i].real()) == is_first ? 1 : 0, 0x1p-2) << i;
    }
  }
}

TEST(DeclaredBounds, PowersAreRightEverywhere) {
  const rlwe::Parameters parameters = deep(2);
  const FunctionSession session(parameters);
  const FunctionPlan plan(parameters, Function(Polynomial({1, -3, 0, 0.5}, Basis::power)));
  const Ciphertext x = encrypt(session, Values(test_slots, 4), 6);
  const Ciphertext y = session.run(plan, x);
  EXPECT_EQ(y.meta.largest, 1 + 3 * 6 + 0.5 * 216);
  EXPECT_NEAR(session.client.decrypt(y).front().real(), 1 - 12 + 32, 0.01);
  // One that stands for something else on its interval is not.
  Function approximation(Polynomial({1, -3, 0, 0.5}, Basis::power));
  approximation.set_error(0.01);
  EXPECT_THROW(static_cast<void>(session.run(FunctionPlan(parameters, approximation), x)), RangeError);
}

TEST(DeclaredBounds, ChebyshevSumsAreAtMostTheirLargestValue) {
  const rlwe::Parameters parameters = deep(4);
  const FunctionSession session(parameters);
  // T_2 - T_4 + T_6 / 2 is at most 2.5 by its coefficients.
  const Polynomial polynomial({0, 0, 1, 0, -1, 0, 0.5}, Basis::chebyshev, {-3, 3});
  double expected = 0;
  for (int i = -30000; i <= 30000; ++i) {
    const double t = std::acos(i / 30000.0);
    expected = std::max(expected, std::abs(std::cos(2 * t) - std::cos(4 * t) + std::cos(6 * t) / 2));
  }
  const double found =
      session.run(FunctionPlan(parameters, Function(polynomial)), encrypt(session, {1, 1}, 3)).meta.largest;
  EXPECT_GE(found, expected);
  EXPECT_LE(found, 1.02 * expected);
}

TEST(DeclaredBounds, AreThoseOfTheSlotWithTheLargestCoefficients) {
  const rlwe::Parameters parameters = deep(2);
  const FunctionSession session(parameters);
  constexpr std::size_t slots = 8;
  const auto largest = [&](const Function& function) {
    return session.run(FunctionPlan(parameters, function), encrypt(session, Values(slots, 0.5), 2))
        .meta.largest;
  };
  for (const std::size_t slot : {0U, 5U, 7U}) {
    SCOPED_TRACE(slot);
    // Two polynomials c_1 T_1 of x / 2; the second is the output.
    Values coefficients(4 * slots, 0);
    for (std::size_t i = 0; i < slots; ++i) coefficients[3 * slots + i] = i == slot ? -9.0 : 1.0;
    Function polynomial(Polynomial(coefficients, Basis::chebyshev, {-2, 2}, {.count = 2, .width = slots}));
    polynomial.set_outputs({polynomial.outputs().back()});
    EXPECT_NEAR(largest(polynomial), 9, 0.2);
    EXPECT_GE(largest(polynomial), 9);
    // 3 x^2 |x| <= 12 where the factor of x^2 is 3, and a constant of 4 elsewhere.
    Values factors(slots, 0.25), constants(slots, 1);
    factors[slot] = 3;
    constants[(slot + 1) % slots] = -4;
    Function sum(std::vector{Interval{-2, 2}});
    const auto square = sum.add({.products = {{0, 0}}});
    sum.set_outputs({sum.add({.terms = {{square, factors}}, .constant = constants})});
    EXPECT_DOUBLE_EQ(largest(sum), 12 + 4);
  }
}

// --- Bootstraps. ---

class BootstrapBounds : public ::testing::Test {
 protected:
  BootstrapBounds()
      : parameters(parameters_for_bootstrapping(bootstrap_preset("test-40"))),
        plan(parameters, {.slots = 16}),
        client(parameters, {.public_key = true, .relinearization = true}) {
    rlwe::EvaluationKeys keys = client.keys;
    keys.merge(plan.generate_keys(client.secret));
    prepared = std::make_shared<const PreparedBootstrap>(client.context, plan);
    evaluator = std::make_unique<ckks::Evaluator>(
        client.context, keys, rlwe::Relinearization::eager,
        ckks::Evaluator::Refresh{
            .run = [this](const auto& own, const auto& x) { return (*prepared)(own, x); },
            .level = plan.result_level()});
  }
  [[nodiscard]] Ciphertext encrypt(double size, std::size_t level, double largest) const {
    return ckks::encrypt(client.encoder->encode(values(size), {}, level, {}, largest), client.secret);
  }
  static Values values(double size) {
    Values x = ckks::random_values(16, 7, 0.7 * size);
    x.front() = {size, 0};
    return x;
  }
  [[nodiscard]] double difference(const Ciphertext& found, double size) const {
    return client.error(found, values(size));
  }

  rlwe::Parameters parameters;
  Bootstrap plan;
  ckks::Session client;
  std::shared_ptr<const PreparedBootstrap> prepared;
  std::unique_ptr<ckks::Evaluator> evaluator;
};

TEST_F(BootstrapBounds, ValuesAreAsRightAsTheirBoundIsLarge) {
  const std::size_t low = plan.input_level();
  for (const double bound : {0.5, 1.0, 1.5, 8.0, 1000.0, 191751.0}) {
    for (const std::size_t above : {1, 2}) {
      SCOPED_TRACE(std::to_string(bound) + " and " + std::to_string(above) + " levels above");
      const Ciphertext found = (*prepared)(*evaluator, encrypt(bound, low + above, bound));
      EXPECT_EQ(found.meta.largest, bound);
      EXPECT_EQ(found.meta.level, plan.result_level());
      EXPECT_LT(difference(found, bound), std::max(1.0, bound) * 0x1p-14);
    }
  }
  // A bound far above the values costs precision, and is no error.
  EXPECT_LT(difference((*prepared)(*evaluator, encrypt(1, low + 1, 1024)), 1), 1024 * 0x1p-14);
}

// The sine's error at v = u, where it is fitted for |u| <= 1, is u theta^2 (1 / 8 - u^2 / 6), theta = 2 pi
// over the ratio: at most theta^2 / 24 there, and far more beyond. A divisor of at least the bound leaves |u|
// <= 1, and is at most a quarter above it, rounded up.
TEST_F(BootstrapBounds, ValuesUpToTheirBoundAreDividedToAtMostOne) {
  const double theta = 2 * std::numbers::pi / std::exp2(bootstrap_preset("test-40").ratio_bits);
  constexpr std::size_t batch = 4;
  for (const double bound : {1.05, 1.9, 2.9}) {
    SCOPED_TRACE(bound);
    const auto plain =
        client.encoder->encode(Values(16 * batch, bound), {batch}, plan.input_level() + 1, {}, bound);
    const Values found = client.decrypt((*prepared)(*evaluator, ckks::encrypt(plain, client.secret)));
    double mean = 0, noise = 0;
    for (const Complex& value : found) {
      mean += (value.real() - bound) / static_cast<double>(found.size());
      noise += std::pow(value.imag(), 2) / static_cast<double>(found.size());
    }
    const double deviation = std::sqrt(noise / static_cast<double>(found.size()));
    EXPECT_LT(std::abs(mean), 1.25 * std::ceil(bound) * theta * theta / 24 + 4 * deviation);
  }
}

TEST_F(BootstrapBounds, ThatAreTooLargeForTheLevelAreToldFromThoseThatAreNot) {
  const std::size_t low = plan.input_level();
  const auto run = [&](std::size_t level, double bound) {
    return tests::refusal<RangeError>([&] { return (*prepared)(*evaluator, encrypt(1, level, bound)); });
  };
  EXPECT_EQ(run(low, 2), "");
  EXPECT_NE(run(low, 2 * (1 + 1e-12)), "");
  EXPECT_EQ(run(low + 1, 2 * (1 + 1e-12)), "");
  // What divides is what the modulus drops, less ten bits that round it.
  const rlwe::ScalePolicy& scales = client.context->scales();
  for (const std::size_t above : {1, 2}) {
    const double whole = std::exp2(parameters.log_modulus(low + above) - parameters.log_modulus(low)) *
                         scales.level_scale(low) / scales.level_scale(low + above) / 1024;
    EXPECT_EQ(run(low + above, std::floor(whole * (1 - 1e-9))), "");
    EXPECT_NE(run(low + above, std::ceil(whole * (1 + 1e-9)) + 1), "");
  }
}

TEST_F(BootstrapBounds, NothingIsLeftToMakeThemSmallerAtTheLowestLevel) {
  const std::size_t low = plan.input_level();
  EXPECT_EQ((*prepared)(*evaluator, encrypt(1.5, low, 1.5)).meta.largest, 1.5);
  const std::string text =
      tests::refusal<RangeError>([&] { return (*prepared)(*evaluator, encrypt(1, low, 41)); });
  EXPECT_TRUE(tests::says(text, "up to 41 are declared"));
  EXPECT_TRUE(tests::says(text, "higher level"));
  tests::expect_error<RangeError>([&] { return (*prepared)(*evaluator, encrypt(1, low + 1, 0x1p60)); },
                                  {"bootstrap earlier"});
  EXPECT_EQ((*prepared)(*evaluator, encrypt(1, low, infinite)).meta.largest, infinite);
}

TEST_F(BootstrapBounds, ProductsKeepALevelForThem) {
  const std::size_t low = plan.input_level();
  const auto is_refreshed = [&](std::size_t level, double largest, std::size_t levels, double magnitude = 1) {
    return evaluator->refreshed(encrypt(1, level, largest), levels, magnitude).has_value();
  };
  EXPECT_TRUE(is_refreshed(low, infinite, 1));
  EXPECT_FALSE(is_refreshed(low + 1, infinite, 1));
  EXPECT_TRUE(is_refreshed(low + 1, 8, 1));
  EXPECT_TRUE(is_refreshed(low + 1, 1, 1));
  EXPECT_FALSE(is_refreshed(low + 2, 8, 1));
  EXPECT_TRUE(is_refreshed(low + 2, 8, 2));
  EXPECT_FALSE(is_refreshed(low, 1, 0));
  // What a bootstrap gives back is not bootstrapped again.
  EXPECT_FALSE(is_refreshed(plan.result_level(), 8, plan.result_level() - low));
  // Undeclared values are taken to be as large as a function's interval.
  const auto fresh = evaluator->refreshed(encrypt(16, low + 1, infinite), 2, 16);
  ASSERT_TRUE(fresh.has_value());
  EXPECT_EQ(fresh->meta.largest, infinite);
  EXPECT_LT(difference(*fresh, 16), 16 * 0x1p-14);
}

TEST_F(BootstrapBounds, AProductOfManyStepsGrowsWithIt) {
  Ciphertext x = encrypt(1, plan.result_level(), 1);
  double expected = 1;
  for (int step = 0; step < 30; ++step) {
    if (auto fresh = evaluator->refreshed(x)) x = std::move(*fresh);
    evaluator->multiply_scalar_inplace(x, 1.5);
    expected *= 1.5;
  }
  EXPECT_DOUBLE_EQ(x.meta.largest, expected);
  Values wanted = values(1);
  for (Complex& value : wanted) value *= expected;
  EXPECT_LT(client.error(x, wanted), expected * 0x1p-10);
}

// Bounds of values below 1: the matrices of a bootstrap, and its i, are no values.
TEST(BootstrapOfSmallValues, IsPrepared) {
  rlwe::ParametersLiteral literal = parameters_for_bootstrapping(bootstrap_preset("test-40")).literal();
  literal.largest = 0.25;
  const rlwe::Parameters parameters(literal);
  const Bootstrap plan(parameters, {.slots = 4});
  const ckks::Session client(parameters, {.relinearization = false});
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  const Values x{0.25, -0.125, {0, 0.25}, 0};
  const Ciphertext low = ckks::encrypt(client.encoder->encode(x, {}, plan.input_level()), client.secret);
  const Ciphertext y = PreparedBootstrap(client.context, plan)(evaluator, low);
  EXPECT_EQ(y.meta.largest, 0.25);
  EXPECT_LT(client.error(y, x), 0x1p-12);
}

}  // namespace
}  // namespace hemera::circuits
