// EvalMod alone, at integers that raised ciphertexts hardly ever have, and how often they have which.
#include "circuits/bootstrap/eval_mod.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/bootstrap/nested_series.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits::eval_mod_tests {
namespace {

using ckks::Complex;
using ckks::Values;

constexpr double turn = 2 * std::numbers::pi;

struct EvalModTest : ::testing::Test {
  rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  BootstrapLayout layout{parameters};
  Bootstrap plan{parameters};
  EvalMod eval_mod{parameters, layout, false};
  ckks::Session client{parameters};
  rlwe::EvaluationKeys keys = plan.generate_keys(client.secret);
  ckks::Evaluator evaluator{client.context, keys};
  PreparedFunction prepared{client.context, eval_mod.plan()};

  // The error that EvalMod has for x under this integer, in the worst slot.
  [[nodiscard]] double error(int integer) const {
    Values x, v;
    for (const Complex& value : ckks::random_values(plan.slots(), 9)) {
      x.emplace_back(value.real());
      const double t = integer + value.real() / layout.ratio;
      v.emplace_back(t / static_cast<double>(layout.sine.range) + eval_mod.shift());
    }
    std::vector<rlwe::Ciphertext> in;
    in.push_back(ckks::encrypt(client.encoder->encode(v, {}, layout.eval_mod_level), client.secret));
    const rlwe::Ciphertext out = std::move(prepared(evaluator, std::move(in)).front());
    EXPECT_EQ(out.meta.level, eval_mod.end_level());
    rlwe::Ciphertext slots = out.clone();
    slots.meta.scale = eval_mod.end_scale();
    return client.error(slots, x);
  }
};

TEST_F(EvalModTest, TakesIntegersUpToTheEdgeAway) {
  const int last = static_cast<int>(layout.sine.range) - 1;
  for (const int integer : {0, 1, 7, 12, last}) {
    SCOPED_TRACE(integer);
    const double series =
        layout.ratio * std::exp2(eval_mod.series().error_log2[static_cast<std::size_t>(integer)]);
    EXPECT_LT(error(integer), 1.1 * series + 0x1p-20);
    EXPECT_LT(error(-integer), 1.1 * series + 0x1p-20);
  }
}

// In the clear, beside the sine itself.
TEST(SineFunction, IsASineForAnyRangeDegreeAndNumberOfDoublings) {
  struct Shape {
    std::size_t range, degree, doublings, levels;
  };
  for (const auto& [range, degree, doublings, levels] : std::initializer_list<Shape>{
           {4, 7, 2, 6}, {16, 15, 3, 8}, {16, 14, 3, 8}, {12, 20, 3, 9}, {16, 31, 2, 8}, {16, 63, 2, 9}}) {
    SCOPED_TRACE(std::to_string(range) + ", " + std::to_string(degree) + ", " + std::to_string(doublings));
    const EvalModSeries series = fit_eval_mod({.range = range, .degree = degree, .doublings = doublings});
    const Function function = sine_function({.range = static_cast<double>(range),
                                             .series = series.coefficients,
                                             .doublings = doublings,
                                             .fraction_bits = 40,
                                             .arcsine = std::nullopt});
    EXPECT_EQ(function.depth(), levels);
    for (std::size_t integer = 0; integer < range; ++integer) {
      for (const double distance : {-1e-4, 0.0, 3e-5, 1e-4}) {
        const double t = static_cast<double>(integer) + distance;
        const Values v{t / static_cast<double>(range)};
        const double found = function.evaluate(std::vector<Values>{v}).front().front().real();
        const double bound = 2 * turn * std::exp2(series.error_log2[integer]) + 1e-10;
        EXPECT_NEAR(found, std::sin(turn * distance), bound) << t;
      }
    }
  }
}

// Messages of a whole turn: between the integers too, and as well for rare integers as for others.
TEST(SineFunction, IsASineBetweenTheIntegersWhereMessagesAre) {
  constexpr double ratio = 2.4;
  const SineShape shape{.range = 16, .degree = 7, .doublings = 4};
  const EvalModSeries series = checked_series(shape, ratio, std::size_t{1} << 15);
  const Function function = sine_function({.range = 16,
                                           .series = series.coefficients,
                                           .doublings = shape.doublings,
                                           .fraction_bits = 40,
                                           .arcsine = std::nullopt});
  EXPECT_EQ(function.depth(), 8U);
  double largest = 0, largest_inside = 0;
  for (int i = -1550; i <= 1550; ++i) {
    const double t = i / 100.0;
    const Values v{t / 16};
    const double found = function.evaluate(std::vector<Values>{v}).front().front().real();
    const double error = std::abs(found - std::sin(turn * t));
    largest = std::max(largest, error);
    if (std::abs(t) < 14.5) largest_inside = std::max(largest_inside, error);
  }
  EXPECT_LT(largest, 0x1p-10);
  EXPECT_LT(largest_inside, 0x1p-12);
  EXPECT_LT(mean_error_log2(series, rlwe::usual_ephemeral_weight), -14);
  // Near the integers alone rare ones have larger errors, and messages of a whole turn none that is small.
  EXPECT_GT(checked_series(shape, 8, std::size_t{1} << 15).error_log2.back(), series.error_log2.back() + 3);
  SineShape nested;
  nested.nested = true;
  EXPECT_NO_THROW(static_cast<void>(checked_series(nested, 8, std::size_t{1} << 15)));
  EXPECT_THROW(static_cast<void>(checked_series(nested, 7.9, std::size_t{1} << 15)), ParameterError);
}

// The same of nested products, whose errors are those that the header tells; one product a level.
TEST(SineFunction, IsASineByOneProductALevel) {
  const EvalModSeries series = checked_nested_series(false);
  const Function function = sine_function({.range = 16,
                                           .series = {},
                                           .doublings = 3,
                                           .fraction_bits = 0,
                                           .arcsine = std::nullopt,
                                           .nested = true});
  EXPECT_EQ(function.depth(), 8U);
  std::size_t relinearized = 0;
  for (const auto& part : function.parts()) {
    if (!std::get<Function::Sum>(part).products.empty()) ++relinearized;
  }
  EXPECT_EQ(relinearized, function.depth());
  EXPECT_LT(mean_error_log2(series, rlwe::usual_ephemeral_weight), -39.5);
  for (int integer = -15; integer <= 15; ++integer) {
    for (const double distance : {-1e-4, 0.0, 3e-5, 1e-4}) {
      const double t = integer + distance;
      const double found = function.evaluate(std::vector<Values>{{t / 16}}).front().front().real();
      const double error = std::exp2(series.error_log2[static_cast<std::size_t>(std::abs(integer))]);
      EXPECT_NEAR(found, std::sin(turn * distance), 2 * turn * error + 1e-11) << t;
    }
    const std::size_t size = static_cast<std::size_t>(std::abs(integer));
    const double bound = size <= 8 ? -39 : (size <= 12 ? -29.9 : -16.6);
    EXPECT_LT(series.error_log2[size], bound) << integer;
  }
}

TEST_F(EvalModTest, BeyondTheEdgeResultsAreWrong) {
  // What the probability of a failure speaks of.
  const int edge = static_cast<int>(layout.sine.range);
  for (const int integer : {edge, -edge}) {
    EXPECT_GT(error(integer), 0.1) << integer;
  }
}

TEST_F(EvalModTest, IntegersAreAsRareAsTheModelSays) {
  constexpr std::size_t batch = 8;
  const Values values = ckks::random_values(batch * plan.slots(), 10);
  const rlwe::Ciphertext low = ckks::encrypt(client.encoder->encode(values, {batch}, 0), client.secret);
  const auto key = [&](const rlwe::KeyRole& role) { return keys.switching.at(role).begin()->second; };
  rlwe::Ciphertext raised = rlwe::mod_down(mod_raise(
      low, *key({.to = rlwe::ephemeral_secret}), *key({.from = rlwe::ephemeral_secret}), layout.top_level));
  raised.meta.scale = last_modulus(parameters);
  const Values slots = client.decrypt(raised);

  const auto stages = coefficients_to_slots_factors(plan.slots(), std::vector<std::size_t>(10, 1));
  std::vector<double> count(layout.sine.range);
  for (std::size_t first = 0; first < slots.size(); first += plan.slots()) {
    Values x(slots.begin() + static_cast<std::ptrdiff_t>(first),
             slots.begin() + static_cast<std::ptrdiff_t>(first + plan.slots()));
    for (const Diagonals& stage : stages) {
      Values next(x.size());
      for (const auto& [number, diagonal] : stage) {
        for (std::size_t k = 0; k < x.size(); ++k) next[k] += diagonal[k] * x[(k + number) % x.size()];
      }
      x = std::move(next);
    }
    for (const Complex& value : x) {
      for (const double t : {value.real(), value.imag()}) {
        const double integer = std::round(t);
        EXPECT_LT(std::abs(t - integer), 2 / layout.ratio);  // the message
        ASSERT_LT(std::abs(integer), static_cast<double>(layout.sine.range));
        ++count[static_cast<std::size_t>(std::abs(integer))];
      }
    }
  }
  for (std::size_t i = 0; i < count.size(); ++i) {
    const double probability = (i == 0 ? 1 : 2) * std::exp2(overflow_log2(i, rlwe::usual_ephemeral_weight));
    const double expected = probability * static_cast<double>(2 * slots.size());
    EXPECT_NEAR(count[i], expected, 10 * std::sqrt(expected) + 5) << i;
  }
}

}  // namespace
}  // namespace hemera::circuits::eval_mod_tests
