// Encrypted matrices times encrypted vectors, beside the product in the clear.
#include "hemera/circuits/linear/matrix_vector_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using ckks::Complex;
using ckks::Values;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

struct Session : MatrixSession<MatrixVectorProduct, PreparedMatrixVectorProduct> {
  explicit Session(const MatrixVectorProduct& plan) : MatrixSession(parameters(), plan, false) {}
};

struct Case {
  const char* name;
  std::size_t rows, columns;
  MatrixVectorOptions options;
};

class MatrixVectorTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Cases, MatrixVectorTest,
                         testing::Values(Case{"Square", 16, 16, {}}, Case{"Wide", 4, 32, {}},
                                         Case{"Tall", 32, 8, {}}, Case{"NoPowersOfTwo", 5, 19, {}},
                                         Case{"OneRow", 1, 16, {}}, Case{"OneColumn", 16, 1, {}},
                                         Case{"BabyStepsAlone", 16, 16, {.baby_steps = 16}},
                                         Case{"GiantStepsAlone", 8, 16, {.baby_steps = 1}},
                                         Case{"TallWithGiantSteps", 30, 8, {.baby_steps = 2}},
                                         Case{"LowLevel", 16, 16, {.level = 1, .baby_steps = 4}},
                                         Case{"OwnKeys", 16, 16, {.baby_steps = 4, .own_keys = true}},
                                         Case{"WideWithOwnKeys", 4, 32, {.own_keys = true}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(MatrixVectorTest, IsTheProduct) {
  const auto& [name, rows, columns, options] = GetParam();
  const MatrixVectorProduct plan(parameters(), rows, columns, options);
  const Session session(plan);
  const Values matrix = ckks::random_values(rows * columns, 31);
  Values x(2 * plan.vector_slots());
  for (std::size_t b = 0; b < 2; ++b) {
    const Values one = ckks::random_values(columns, 32 + b);
    std::copy(one.begin(), one.end(), x.begin() + static_cast<std::ptrdiff_t>(b * plan.vector_slots()));
  }
  const rlwe::Ciphertext encrypted = session.client.encrypt(plan.pack(matrix), {plan.diagonals()});
  const rlwe::Ciphertext y = session.prepared(session.evaluator, encrypted, session.client.encrypt(x, {2}));
  EXPECT_EQ(y.meta.slots, plan.result_slots());
  EXPECT_EQ(y.meta.level, plan.result_level());
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
  const Values found = session.client.decrypt(y);
  ASSERT_EQ(found.size(), 2 * plan.result_slots());
  double squares = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    const Complex* vector = x.data() + b * plan.vector_slots();
    const Values expected = product(matrix, std::span(vector, columns), rows, columns);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(matrix, std::span(vector, columns)), expected),
              1e-12);
    for (std::size_t i = 0; i < plan.result_slots(); ++i) {
      const double error = std::abs(found[b * plan.result_slots() + i] - (i < rows ? expected[i] : 0));
      EXPECT_LT(error, ckks::tolerance);
      squares += error * error;
    }
  }
  const double measured = std::sqrt(squares / static_cast<double>(2 * plan.result_slots()));
  // Few slots tell little of a deviation.
  EXPECT_LT(std::abs(std::log2(measured / plan.expected_error().mean)), plan.result_slots() < 32 ? 3 : 1.5)
      << measured << " " << plan.expected_error().mean;
}

TEST(MatrixVectorProduct, TellsWhatItNeedsAndCosts) {
  const MatrixVectorProduct plan(parameters(), 16, 64, {.baby_steps = 4});
  EXPECT_EQ(plan.diagonals(), 16U);
  EXPECT_EQ(plan.rotations(), (std::vector<std::size_t>{1, 2, 3, 4, 8, 12, 16, 32, 48}));
  EXPECT_EQ(plan.needed_keys().size(), 10U);
  EXPECT_EQ(plan.cost().products, 16U);
  EXPECT_EQ(plan.cost().key_products, 3U + 4U + 3U + 3U);
  EXPECT_EQ(plan.cost().mod_ups, 1U + 4U + 3U + 1U);
  EXPECT_EQ(plan.ends().depth(), 1U);
  const Session session(plan);
  EXPECT_EQ(generate_needed_keys(session.client.secret, plan.needed_keys()).memory_bytes(),
            plan.cost().key_bytes);
  EXPECT_LT(plan.expected_error(0).mean, plan.expected_error().mean);
  EXPECT_LT(plan.expected_error().mean, plan.expected_error(1e-3).mean);
}

// The last sum is a level lower.
TEST(MatrixVectorProduct, OwnKeysAreOverThePrimesOfTheirLevelsAlone) {
  const auto levels = parameters().literal().levels;
  const MatrixVectorProduct plan(parameters(), 4, 32, {.level = 2, .baby_steps = 2, .own_keys = true});
  std::size_t lower = 0;
  for (const KeyNeed& need : plan.needed_keys()) {
    lower += need.gadget.base == levels.at(1) ? 1 : 0;
    EXPECT_TRUE(need.gadget.base == levels.at(1) || need.gadget.base == levels.at(2));
  }
  EXPECT_GT(lower, 0U);
  EXPECT_LT(lower, plan.needed_keys().size());
  const Session session(plan);
  EXPECT_EQ(generate_needed_keys(session.client.secret, plan.needed_keys()).memory_bytes(),
            plan.cost().key_bytes);
}

TEST(MatrixVectorProduct, TakesWhatOtherOperationsLeave) {
  const MatrixVectorProduct plan(parameters(), 8, 8, {.level = 2});
  const Session session(plan);
  // The square is of the level above the plan's, which the plan's keys do not serve.
  rlwe::EvaluationKeys keys = session.evaluator.keys();
  keys.merge(rlwe::generate_keys(session.client.secret, {.public_key = false, .relinearization = true}));
  const ckks::Evaluator lazy(session.client.context, keys, rlwe::Relinearization::lazy);
  const Values matrix = ckks::random_values(64, 33), x = ckks::random_values(8, 34);
  const rlwe::Ciphertext encrypted = session.client.encrypt(plan.pack(matrix), {plan.diagonals()});
  const rlwe::Ciphertext y = session.prepared(lazy, encrypted, lazy.square(session.client.encrypt(x)));
  const Values squares = ckks::map2(x, x, [](Complex a, Complex b) { return a * b; });
  EXPECT_LT(ckks::largest_difference(session.client.decrypt(y), product(matrix, squares, 8, 8)),
            ckks::tolerance);
}

TEST(MatrixVectorProduct, RefusesWhatDoesNotFit) {
  EXPECT_THROW(MatrixVectorProduct(parameters(), 0, 4), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(parameters(), 4, 0), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(parameters(), 4, 513), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(parameters(), 4, 4, {.baby_steps = 3}), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(parameters(), 4, 4, {.level = 0}), LevelError);
  EXPECT_THROW(MatrixVectorProduct(parameters(), 4, 4, {.level = 4}), LevelError);
  const MatrixVectorProduct plan(parameters(), 4, 8);
  EXPECT_THROW(static_cast<void>(plan.pack(Values(31))), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(Values(32), Values(4))), ParameterError);
  const Session session(plan);
  const rlwe::Ciphertext matrix = session.client.encrypt(plan.pack(Values(32)), {4});
  const rlwe::Ciphertext x = session.client.encrypt(Values(8));
  const auto run = [&](const ckks::Evaluator& evaluator, const rlwe::Ciphertext& a,
                       const rlwe::Ciphertext& b) { static_cast<void>(session.prepared(evaluator, a, b)); };
  EXPECT_THROW(run(session.evaluator, x, x), MismatchError);
  EXPECT_THROW(run(session.evaluator, matrix, session.client.encrypt(Values(4))), MismatchError);
  EXPECT_THROW(run(session.evaluator, session.client.encrypt(Values(32), {8}), x), MismatchError);
  EXPECT_THROW(run(*session.client.evaluator, matrix, x), MissingKeyError);
  rlwe::Ciphertext low = x.clone();
  session.evaluator.drop_to_level_inplace(low, 2);
  EXPECT_THROW(run(session.evaluator, matrix, low), LevelError);
  EXPECT_THROW(PreparedMatrixVectorProduct(session.client.context,
                                           MatrixVectorProduct(ckks::small_parameters(2, 2), 4, 8)),
               MismatchError);
}

// d_j[k] = M[k mod R, (k + j) mod C], R and C powers of two, with zeros beyond the matrix; diagonal j turned
// forth by its giant step (docs/circuits.md).
TEST(MatrixVectorProduct, PacksDiagonalsWithZerosBeyondTheMatrix) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1},
                                      {1, 3},
                                      {3, 1},
                                      {5, 19},
                                      {19, 5},
                                      {3, 4},
                                      {4, 3},
                                      {7, 7},
                                      {8, 8}}) {
    const Values matrix = ckks::random_values(rows * columns, rows * 37 + columns);
    const std::size_t r = std::bit_ceil(rows), c = std::bit_ceil(columns), width = std::max(r, c);
    for (const std::size_t babies : {1, 2, 4, 64}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " by " + std::to_string(babies));
      const MatrixVectorProduct plan(parameters(), rows, columns, {.baby_steps = babies});
      const Values packed = plan.pack(matrix);
      ASSERT_EQ(packed.size(), std::min(r, c) * width);
      for (std::size_t j = 0; j < std::min(r, c); ++j) {
        const std::size_t giant = j - j % std::min(babies, std::min(r, c));
        for (std::size_t k = 0; k < width; ++k) {
          const std::size_t row = k % r, column = (k + j) % c;
          const Complex expected = row < rows && column < columns ? matrix[row * columns + column] : 0;
          EXPECT_EQ(packed[j * width + (k + giant) % width], expected) << j << " " << k;
        }
      }
    }
  }
}

// Slots of the vector beyond the columns meet zeros, whatever they are; the result has zeros beyond the rows.
TEST(MatrixVectorProduct, ValuesBeyondTheColumnsDoNotCount) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{3, 5}, {5, 3}, {2, 13}, {13, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const MatrixVectorProduct plan(parameters(), rows, columns);
    const Session session(plan);
    const Values matrix = ckks::random_values(rows * columns, 35),
                 x = ckks::random_values(plan.vector_slots(), 36);
    const rlwe::Ciphertext y =
        session.prepared(session.evaluator, session.client.encrypt(plan.pack(matrix), {plan.diagonals()}),
                         session.client.encrypt(x));
    Values expected = product(matrix, std::span(x).first(columns), rows, columns);
    expected.resize(plan.result_slots());
    EXPECT_LT(ckks::largest_difference(session.client.decrypt(y), expected), ckks::tolerance);
  }
}

}  // namespace
}  // namespace hemera::circuits
