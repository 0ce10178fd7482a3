// Sums of one level as a batch, sums without a level, and parts that the last product joins.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/functions/function_rows.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::function_batches_tests {
namespace {

using Sum = Function::Sum;
using Value = Function::Value;

rlwe::Parameters parameters() { return ckks::small_parameters(5, 2); }

// Squares of four sums of one level, of which the outputs are these: the others are left out.
Function of_sums(const std::vector<std::size_t>& which) {
  Function function(std::vector(2, Interval{}));
  const std::vector<Value> sums = {
      function.add({.factor = 2, .products = {{0, 0}}, .constant = {-1}}),
      function.add({.products = {{0, 1}}, .terms = {{1, {0.25}}}}),
      function.add({.terms = {{0, {1}}}}),
      function.add({.factor = -1, .products = {{1, 1}, {0, 1}}, .terms = {{0, {0.5}}}, .constant = {0.125}}),
  };
  std::vector<Value> outputs;
  for (const std::size_t number : which)
    outputs.push_back(function.add({.products = {{sums[number], sums[number]}}}));
  function.set_outputs(outputs);
  return function;
}

TEST(FunctionBatches, AreWhatTheirSumsAreOneByOneBitForBit) {
  const FunctionSession session(parameters());
  const Values a = spread({}), b = spread({}, test_slots, 5);
  for (const rlwe::BatchShape& shape : {rlwe::BatchShape{}, rlwe::BatchShape{3}}) {
    const std::size_t count = rlwe::batch_count(shape);
    Values x, y;
    for (std::size_t i = 0; i < count; ++i) {
      x.insert(x.end(), a.begin(), a.end());
      y.insert(y.end(), b.begin(), b.end());
    }
    const Ciphertext first = session.client.encrypt(x, shape), second = session.client.encrypt(y, shape);
    const FunctionPlan all(parameters(), of_sums({0, 1, 2, 3}));
    const auto rows = rows_of(all.steps(), 2, {});
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.front().products, 3U);
    EXPECT_EQ(rows.front().lowered, 1U);
    const std::vector<Ciphertext> together = session.run(all, {&first, &second});
    for (std::size_t number = 0; number < together.size(); ++number) {
      SCOPED_TRACE(number);
      const FunctionPlan plan(parameters(), of_sums({number}));
      const std::vector<Ciphertext> alone = session.run(plan, {&first, &second});
      EXPECT_EQ(session.client.decrypt(together[number]), session.client.decrypt(alone.front()));
      EXPECT_EQ(together[number].meta.batch, alone.front().meta.batch);
    }
  }
}

TEST(FunctionBatches, OfInputsOfSeveralShapesAreTakenOneByOne) {
  const FunctionSession session(parameters());
  const Values a = spread({}), b = spread({}, test_slots, 5);
  Values twice = b;
  twice.insert(twice.end(), a.begin(), a.end());
  const Ciphertext one = session.client.encrypt(a), two = session.client.encrypt(twice, {2});
  const FunctionPlan plan(parameters(), of_sums({0, 1, 2, 3}));
  const std::vector<Ciphertext> found = session.run(plan, {&one, &two});
  EXPECT_EQ(found[0].meta.batch, rlwe::BatchShape{});
  EXPECT_EQ(found[3].meta.batch, rlwe::BatchShape{2});
  const Rows expected = plan.function().evaluate(Rows{a, b});
  for (std::size_t i = 0; i < found.size(); ++i) {
    Values values = session.client.decrypt(found[i]);
    values.resize(test_slots);
    EXPECT_LT(ckks::largest_difference(values, expected[i]), ckks::tolerance) << i;
  }
}

// Numbers with few bits after the point, at the price of scale and not of a level.
TEST(FunctionBatches, SumsOfFewBitsTakeNoLevel) {
  Function function(std::vector{Interval{}});
  const Value square = function.add({.products = {{0, 0}}});
  const Value sum = function.add({.terms = {{square, {0.7}}}, .constant = {0.25}, .fraction_bits = 6});
  function.set_outputs({sum});
  EXPECT_EQ(function.depth(), 1U);
  const FunctionSession session(parameters());
  const FunctionPlan plan(parameters(), function);
  const FunctionPlan before(parameters(), [&] {
    Function own = function;
    own.set_outputs({square});
    return own;
  }());
  EXPECT_EQ(plan.results().front().level, before.results().front().level);
  EXPECT_EQ(plan.results().front().scale, 64 * before.results().front().scale);
  const Values x = spread({});
  Values expected;
  for (const Complex& value : x) expected.push_back(std::nearbyint(0.7 * 64) / 64 * value * value + 0.25);
  EXPECT_LT(session.client.error(session.run(plan, session.client.encrypt(x)), expected), ckks::tolerance);
}

TEST(FunctionBatches, SumsWithoutALevelHaveRealNumbersAndNoProducts) {
  const std::vector<Sum> refused = {
      {.products = {{0, 0}}, .terms = {{0, {1}}}, .fraction_bits = 4},
      {.terms = {{0, {Complex(0, 1)}}}, .fraction_bits = 4},
      {.terms = {{0, Values(4, 1)}}, .fraction_bits = 4},
      {.terms = {{0, {}}}, .fraction_bits = 4},
      {.terms = {{0, {1}}}, .constant = {Complex(0, 1)}, .fraction_bits = 4},
      {.terms = {{0, {1}}}, .fraction_bits = -1},
      {.terms = {{0, {1}}}, .fraction_bits = 61},
      {.terms = {{0, {-1}}}, .fraction_bits = 0},
      {.terms = {{0, {1}}, {0, {2}}}, .fraction_bits = 0},
  };
  for (std::size_t number = 0; number < refused.size(); ++number) {
    SCOPED_TRACE(number);
    Function function(std::vector{Interval{}});
    EXPECT_THROW(function.add(refused[number]), ParameterError);
    EXPECT_TRUE(function.parts().empty());
  }
}

TEST(FunctionBatches, DoublingsByTheScaleHalveIt) {
  Function function(std::vector{Interval{}});
  function.set_outputs({function.add({.factor = 2, .products = {{0, 0}}, .constant = {-1}})});
  const FunctionSession session(parameters());
  const FunctionPlan usual(parameters(), function),
      halved(parameters(), function, {.doubles_by_scale = true});
  EXPECT_EQ(halved.results().front().scale, usual.results().front().scale / 2);
  const Values x = spread({});
  Values expected;
  for (const Complex& value : x) expected.push_back(2.0 * value * value - 1.0);
  for (const FunctionPlan* plan : {&usual, &halved}) {
    const Values found = session.client.decrypt(session.run(*plan, session.client.encrypt(x)));
    EXPECT_LT(ckks::largest_difference(found, expected), ckks::tolerance);
  }
}

TEST(FunctionBatches, TheLastProductJoinsParts) {
  Function function(std::vector{Interval{}});
  const Value y = function.add({.factor = 2, .products = {{0, 0}}, .constant = {-1}});
  function.set_outputs({function.add({.products = {{y, 0}}, .terms = {{0, {0.5}}}, .constant = {0.125}})});
  const FunctionSession session(parameters());
  const FunctionPlan plan(parameters(), function, {.joins_parts = true});
  EXPECT_EQ(plan.cost().key_products, 3U);  // of both parts, and of what they are joined to
  Values x = spread({});
  const Values imaginary = spread({}, test_slots, 7);
  const Rows expected = function.evaluate(Rows{x}), other = function.evaluate(Rows{imaginary});
  x.insert(x.end(), imaginary.begin(), imaginary.end());
  for (const bool consumed : {false, true}) {
    std::vector<Ciphertext> in;
    in.push_back(session.client.encrypt(x, {2}));
    const PreparedFunction prepared(session.client.context, plan);
    const std::vector<const Ciphertext*> given{in.data()};
    const Ciphertext out = std::move((consumed ? prepared(*session.client.evaluator, std::move(in))
                                               : prepared(*session.client.evaluator, given))
                                         .front());
    EXPECT_EQ(out.meta.batch, rlwe::BatchShape{});
    EXPECT_TRUE(out.meta.is_complex);
    Values joined;
    for (std::size_t i = 0; i < test_slots; ++i)
      joined.push_back(expected[0][i] + Complex(0, 1) * other[0][i]);
    EXPECT_LT(session.client.error(out, joined), ckks::tolerance);
  }
  // A pair of parts is what it takes.
  const Ciphertext alone = session.client.encrypt(spread({}));
  EXPECT_THROW(static_cast<void>(session.run(plan, alone)), MismatchError);
}

// The last product as it is: at its own level and scale, and a rescale later what it would have been.
TEST(FunctionBatches, LeaveTheLastRescale) {
  Function function(std::vector{Interval{}});
  const Value y = function.add({.factor = 2, .products = {{0, 0}}, .constant = {-1}});
  function.set_outputs({function.add({.factor = 2, .products = {{y, y}}, .constant = {-0.125}})});
  const FunctionSession session(parameters());
  Values x = spread({});
  const Values imaginary = spread({}, test_slots, 7);
  const Rows expected = function.evaluate(Rows{x}), other = function.evaluate(Rows{imaginary});
  Values joined;
  for (std::size_t i = 0; i < test_slots; ++i) joined.push_back(expected[0][i] + Complex(0, 1) * other[0][i]);
  Values both = x;
  both.insert(both.end(), imaginary.begin(), imaginary.end());
  for (const bool joins : {false, true}) {
    for (const bool halves : {false, true}) {
      SCOPED_TRACE(std::to_string(joins) + std::to_string(halves));
      const FunctionPlanOptions options{.doubles_by_scale = halves, .joins_parts = joins};
      FunctionPlanOptions leaving = options;
      leaving.leaves_rescale = true;
      const FunctionPlan usual(parameters(), function, options), plan(parameters(), function, leaving);
      EXPECT_EQ(plan.result_level(), usual.result_level() + 1);
      EXPECT_EQ(plan.results().front().level, plan.result_level());
      EXPECT_EQ(plan.cost().key_products, usual.cost().key_products);
      const Ciphertext in = joins ? session.client.encrypt(both, {2}) : session.client.encrypt(x);
      Ciphertext out = session.run(plan, in);
      EXPECT_EQ(out.meta.level, plan.result_level());
      EXPECT_EQ(out.meta.scale, plan.ends().result_scale);
      EXPECT_EQ(out.meta.noise_scale_degree, 2);
      EXPECT_EQ(out.size(), 2U);
      const Values& wanted = joins ? joined : expected[0];
      EXPECT_LT(session.client.error(out, wanted), ckks::tolerance);
      session.client.evaluator->rescale_inplace(out);
      EXPECT_EQ(out.meta.level, usual.result_level());
      EXPECT_NEAR(out.meta.scale / usual.ends().result_scale, 1, 1e-12);
      EXPECT_LT(session.client.error(out, wanted), ckks::tolerance);
    }
  }
  // One level less is enough.
  const std::size_t lowest = parameters().lowest_user_level();
  EXPECT_NO_THROW(FunctionPlan(parameters(), function, {.level = lowest + 1, .leaves_rescale = true}));
  EXPECT_THROW(FunctionPlan(parameters(), function, {.level = lowest + 1}), LevelError);
  EXPECT_THROW(FunctionPlan(parameters(), function, {.level = lowest, .leaves_rescale = true}), LevelError);
}

// Where a level has primes that the levels above have not, its limbs are not the first ones of theirs.
TEST(FunctionBatches, ValuesComeDownToLevelsOfOtherPrimes) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  Function function(std::vector{Interval{}});
  Value y = function.add({.products = {{0, 0}}});
  for (int i = 0; i < 3; ++i) y = function.add({.products = {{y, 0}}, .terms = {{0, {-0.5}}}});
  function.set_outputs({y});
  const ckks::Session client(own, {.relinearization = true});
  const Values x = spread({}, 1024);
  const Rows expected = function.evaluate(Rows{x});
  for (const bool drifts : {false, true}) {
    const FunctionPlan plan(own, function, {.results_drift = drifts});
    const PreparedFunction prepared(client.context, plan);
    const Ciphertext in = ckks::encrypt(client.encoder->encode(x, {}), client.secret);
    const std::vector<const Ciphertext*> given{&in};
    const Ciphertext out = std::move(prepared(*client.evaluator, given).front());
    EXPECT_LT(client.error(out, expected[0]), 0x1p-20) << drifts;
  }
  // A value that is shifted in its place after it was read at a lower level.
  Function shifting(std::vector{Interval{}});
  const Value v = shifting.add({.products = {{0, 0}}}), a = shifting.add({.products = {{v, v}}});
  const Value b = shifting.add({.products = {{a, v}}});
  const Value shifted = shifting.add({.terms = {{v, {1}}}, .constant = {0.5}, .fraction_bits = 0});
  const Value c = shifting.add({.products = {{a, shifted}}});
  shifting.set_outputs({shifting.add({.products = {{b, c}}})});
  const PreparedFunction prepared(client.context, FunctionPlan(own, shifting, {.results_drift = true}));
  const Ciphertext in = ckks::encrypt(client.encoder->encode(x, {}), client.secret);
  const std::vector<const Ciphertext*> given{&in};
  const Ciphertext out = std::move(prepared(*client.evaluator, given).front());
  EXPECT_LT(client.error(out, shifting.evaluate(Rows{x})[0]), 0x1p-20);
}

// Each pair of products is a square of a square: the first is not held once the second is made.
TEST(FunctionBatches, ValuesAreReleasedAfterTheirLastUse) {
  const auto workspace = [](std::size_t pairs) {
    Function function(std::vector{Interval{}});
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < pairs; ++i) {
      const Value square = function.add({.products = {{0, 0}}, .terms = {{0, {static_cast<double>(i)}}}});
      outputs.push_back(function.add({.products = {{square, square}}}));
    }
    function.set_outputs(outputs);
    return FunctionPlan(parameters(), function).cost().workspace_bytes;
  };
  const rlwe::Parameters own = parameters();
  const std::size_t top = own.highest_user_level();
  const auto bytes = [&](std::size_t level) {
    return 2 * own.literal().levels[level].size() * own.degree() * sizeof(std::uint64_t);
  };
  EXPECT_EQ(workspace(12) - workspace(8), 4 * bytes(top - 2));
}

TEST(FunctionBatches, PartsNeedALastProduct) {
  Function function(std::vector{Interval{}});
  const Value square = function.add({.products = {{0, 0}}});
  const Value sum = function.add({.terms = {{square, {0.5}}}});
  for (const std::vector<Value>& outputs :
       {std::vector{sum}, std::vector{square, square}, std::vector<Value>{0}}) {
    function.set_outputs(outputs);
    EXPECT_THROW(FunctionPlan(parameters(), function, {.joins_parts = true}), ParameterError);
    EXPECT_THROW(FunctionPlan(parameters(), function, {.leaves_rescale = true}), ParameterError);
  }
}

}  // namespace
}  // namespace hemera::circuits::function_batches_tests
