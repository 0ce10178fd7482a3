// Grids of transforms: each result is the sum of a row's products, as dense matrices have them.
#include "hemera/circuits/linear/transform_grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::transform_grid_tests {
namespace {

using ckks::Complex;
using ckks::Values;
using Session = MatrixSession<TransformGrid, PreparedTransformGrid>;
using Blocks2 = std::vector<std::vector<MatrixDiagonals>>;

constexpr std::size_t slots = 32;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

MatrixDiagonals block_of(const std::vector<std::size_t>& numbers, std::uint64_t seed) {
  return random_diagonals(slots, numbers, seed);
}

// Row k of the definition, for blocks of any diagonals.
std::vector<Values> expected_of(const Blocks2& blocks, const std::vector<Values>& x) {
  std::vector<Values> results;
  for (const auto& row : blocks) {
    Values& sum = results.emplace_back(slots);
    for (std::size_t column = 0; column < row.size(); ++column) {
      for (const auto& [number, diagonal] : row[column].map()) {
        for (std::size_t k = 0; k < slots; ++k) sum[k] += diagonal[k] * x[column][(k + number) % slots];
      }
    }
  }
  return results;
}

std::vector<Blocks2> grids() {
  const std::vector<std::size_t> all = [] {
    std::vector<std::size_t> numbers(slots);
    for (std::size_t i = 0; i < slots; ++i) numbers[i] = i;
    return numbers;
  }();
  return {
      {{block_of(all, 1)}},
      {{block_of({0}, 2)}},
      {{block_of({5}, 3)}, {block_of({0}, 4)}},
      // A convolution and its shortcut.
      {{block_of({0, 1, 2, 8, 9, 10, 16, 31}, 5)}, {block_of({0}, 6)}},
      {{block_of(all, 7), block_of({0, 3}, 8), block_of({17}, 9)}},
      {{block_of({0, 4}, 10), {}}, {block_of(all, 11), block_of({31}, 12)}, {{}, block_of({0, 16}, 13)}},
  };
}

TEST(TransformGrid, IsTheSumOfTheProductsOfARow) {
  const std::vector<Blocks2> all = grids();
  for (std::size_t grid = 0; grid < all.size(); ++grid) {
    const Blocks2& blocks = all[grid];
    for (const bool own_keys : {false, true}) {
      SCOPED_TRACE(std::to_string(grid) + (own_keys ? ", own keys" : ""));
      const TransformGrid plan(parameters(), blocks, slots, {.level = 2, .own_keys = own_keys});
      EXPECT_EQ(plan.rows(), blocks.size());
      EXPECT_EQ(plan.columns(), blocks.front().size());
      const Session session(parameters(), plan, false);
      std::vector<Values> x, second;
      std::vector<rlwe::Ciphertext> inputs;
      for (std::size_t column = 0; column < plan.columns(); ++column) {
        Values both = ckks::random_values(2 * slots, 60 + column);
        x.emplace_back(both.begin(), both.begin() + slots);
        second.emplace_back(both.begin() + slots, both.end());
        inputs.push_back(session.client.encrypt(both, {2}));
        inputs.back().meta.largest = 2;
      }
      std::vector<const rlwe::Ciphertext*> pointers;
      for (const rlwe::Ciphertext& input : inputs) pointers.push_back(&input);
      const auto results = session.prepared(session.evaluator, pointers);
      const std::vector<Values> clear = plan.evaluate_clear(x), expected = expected_of(blocks, x),
                                also = expected_of(blocks, second);
      ASSERT_EQ(results.size(), blocks.size());
      double squares = 0;
      for (std::size_t row = 0; row < results.size(); ++row) {
        EXPECT_LT(ckks::largest_difference(clear[row], expected[row]), 1e-12);
        EXPECT_EQ(results[row].meta.level, 1U);
        EXPECT_TRUE(results[row].meta.is_complex);
        EXPECT_TRUE(
            session.client.context->scales().close(results[row].meta.scale, plan.ends().result_scale));
        Values both = expected[row];
        both.insert(both.end(), also[row].begin(), also[row].end());
        const Values found = session.client.decrypt(results[row]);
        EXPECT_LT(ckks::largest_difference(found, both), ckks::tolerance) << row;
        double largest = 0;
        for (const Complex& value : both) largest = std::max(largest, std::abs(value));
        EXPECT_GE(results[row].meta.largest, largest);
        for (std::size_t k = 0; k < 2 * slots; ++k) squares += std::norm(found[k] - both[k]);
      }
      const double mean = std::sqrt(squares / static_cast<double>(2 * slots * results.size()));
      EXPECT_LT(std::abs(std::log2(mean / plan.expected_error().mean)), 1);
    }
  }
}

// A vector is extended once for all its rows, and a row is divided once for all its vectors.
TEST(TransformGrid, SharesRotationsAndDivisions) {
  const auto one = [](const MatrixDiagonals& block) {
    return LinearTransform(parameters(), block, slots).cost();
  };
  const auto of = [](const Blocks2& blocks) { return TransformGrid(parameters(), blocks, slots).cost(); };
  std::vector<std::size_t> few{0, 1, 2, 3};
  const MatrixDiagonals a = block_of(few, 1), b = block_of(few, 2);
  EXPECT_EQ(of({{a}}).key_products, one(a).key_products);
  EXPECT_EQ(of({{a}}).mod_ups, one(a).mod_ups);
  EXPECT_EQ(of({{a}}).divisions, one(a).divisions);
  // Three baby steps, no giant one.
  EXPECT_EQ(of({{a}, {b}}).key_products, 3U);
  EXPECT_EQ(of({{a}, {b}}).mod_ups, 1U);
  EXPECT_EQ(of({{a}, {b}}).plain_products, 8U);
  EXPECT_EQ(of({{a}, {b}}).divisions, 2 * one(a).divisions);
  // One baby step of each vector, and one giant step of both.
  EXPECT_EQ(of({{a, b}}).key_products, 3U);
  EXPECT_EQ(of({{a, b}}).mod_ups, 3U);
  EXPECT_EQ(of({{a, b}}).plain_products, 8U);
  EXPECT_EQ(of({{a, b}}).divisions, 2U);
}

TEST(TransformGrid, RefusesWhatDoesNotFit) {
  const MatrixDiagonals a = block_of({0, 1}, 1);
  const auto make = [](const Blocks2& blocks, std::size_t of = slots,
                       const TransformGridOptions& options = {}) {
    return TransformGrid(parameters(), blocks, of, options);
  };
  for (const Blocks2& wrong :
       {Blocks2{}, Blocks2{{}}, Blocks2{{a}, {a, a}}, Blocks2{{a}, {{}}}, Blocks2{{a, {}}, {a, {}}},
        Blocks2{{a, MatrixDiagonals{{3, std::vector<double>{0}}}}},
        Blocks2{{MatrixDiagonals{{slots, std::vector<double>{1}}}}},
        Blocks2{{MatrixDiagonals{{0, std::vector<double>{NAN}}}}}}) {
    EXPECT_THROW(make(wrong), ParameterError);
  }
  EXPECT_THROW(make({{a}}, slots / 2), ParameterError);
  EXPECT_THROW(make({{a}}, slots, {.level = 0}), LevelError);
  EXPECT_THROW(make({{a}}, slots, {.level = 9}), LevelError);
  const TransformGrid plan = make({{a, a}}, slots, {.level = 2});
  const Session session(parameters(), plan, false);
  const Values values(slots, 0.5);
  const rlwe::Ciphertext x = session.client.encrypt(values), wide = session.client.encrypt(Values(64, 0.5)),
                         batch = session.client.encrypt(Values(2 * slots, 0.5), {2});
  rlwe::Ciphertext low = x.clone();
  session.evaluator.drop_to_level_inplace(low, 1);
  const auto run = [&](const ckks::Evaluator& evaluator, const std::vector<const rlwe::Ciphertext*>& inputs) {
    return session.prepared(evaluator, inputs);
  };
  EXPECT_NO_THROW(run(session.evaluator, {&x, &x}));
  EXPECT_NO_THROW(run(session.evaluator, {&batch, &batch}));
  EXPECT_THROW(run(session.evaluator, {&x}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {&x, &x, &x}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {&x, &wide}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {&x, &batch}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {&batch, &x}), MismatchError);
  EXPECT_THROW(run(session.evaluator, {&x, &low}), LevelError);
  EXPECT_THROW(run(*session.client.evaluator, {&x, &x}), MissingKeyError);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(std::vector<Values>{values})), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(std::vector<Values>{values, Values(4)})),
               ParameterError);
  const ckks::Session other(ckks::small_parameters(2, 2));
  EXPECT_THROW(PreparedTransformGrid(other.context, plan), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits::transform_grid_tests
