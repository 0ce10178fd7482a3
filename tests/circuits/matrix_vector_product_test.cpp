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

namespace hemera::circuits::matrix_vector_product_tests {
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

}  // namespace
}  // namespace hemera::circuits::matrix_vector_product_tests
