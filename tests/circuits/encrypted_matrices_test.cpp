// Products of encrypted matrices with matrices and vectors that are encrypted too, beside those in the clear.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "circuits/matrix_support.hpp"
#include "hemera/circuits/linear/matrix_batch_product.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::encrypted_matrices_tests {
namespace {

using ckks::Complex;
using ckks::Values;
using Side = MatrixProduct::Side;

rlwe::Parameters parameters() { return ckks::small_parameters(4, 2); }

struct ProductSession : MatrixSession<MatrixProduct, PreparedMatrixProduct> {
  explicit ProductSession(const MatrixProduct& plan) : MatrixSession(parameters(), plan, false) {}
};

struct Case {
  const char* name;
  std::size_t size;
  MatrixProductOptions options;
};

class MatrixProductTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Cases, MatrixProductTest,
                         ::testing::Values(Case{"Two", 2, {}}, Case{"Four", 4, {}}, Case{"Sixteen", 16, {}},
                                           Case{"LowLevel", 4, {.level = 3}},
                                           Case{"Packed", 8, {.packed = true}},
                                           Case{"PackedAtALowLevel", 2, {.level = 2, .packed = true}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(MatrixProductTest, IsTheProduct) {
  const auto& [name, size, options] = GetParam();
  const MatrixProduct plan(parameters(), size, options);
  EXPECT_EQ(plan.ends().depth(), options.packed ? 2U : 3U);
  const ProductSession session(plan);
  const std::size_t slots = size * size;
  // Two left factors, and one right one for both.
  const Values left = ckks::random_values(2 * slots, 41), right = ckks::random_values(slots, 42);
  Values a = left, b = right;
  if (options.packed) {
    a.clear();
    for (std::size_t which = 0; which < 2; ++which) {
      const Values own = plan.pack(std::span(left).subspan(which * slots, slots), Side::left);
      a.insert(a.end(), own.begin(), own.end());
    }
    b = plan.pack(right, Side::right);
  }
  const rlwe::Ciphertext y =
      session.prepared(session.evaluator, session.client.encrypt(a, {2}), session.client.encrypt(b));
  EXPECT_EQ(y.meta.level, plan.result_level());
  EXPECT_EQ(y.meta.batch, rlwe::BatchShape{2});
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
  const Values found = session.client.decrypt(y);
  double squares = 0;
  for (std::size_t which = 0; which < 2; ++which) {
    const std::span<const Complex> own = std::span(left).subspan(which * slots, slots);
    const Values expected = product(own, right, size, size, size);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(own, right), expected), 1e-12);
    for (std::size_t i = 0; i < slots; ++i) {
      const double error = std::abs(found[which * slots + i] - expected[i]);
      EXPECT_LT(error, ckks::tolerance);
      squares += error * error;
    }
  }
  const double measured = std::sqrt(squares / static_cast<double>(2 * slots));
  EXPECT_LT(std::abs(std::log2(measured / plan.expected_error().mean)), slots < 16 ? 2 : 1)
      << measured << " " << plan.expected_error().mean;
}

TEST(MatrixProduct, RefusesWhatDoesNotFit) {
  for (const std::size_t size : {0U, 1U, 3U, 32U}) {
    EXPECT_THROW(MatrixProduct(parameters(), size), ParameterError) << size;
  }
  EXPECT_THROW(MatrixProduct(parameters(), 4, {.level = 2}), LevelError);
  EXPECT_THROW(MatrixProduct(parameters(), 4, {.level = 1, .packed = true}), LevelError);
  EXPECT_THROW(MatrixProduct(parameters(), 4, {.level = 5}), LevelError);
  const MatrixProduct plan(parameters(), 4);
  EXPECT_THROW(static_cast<void>(plan.pack(Values(15), Side::left)), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(Values(16), Values(4))), ParameterError);
}

rlwe::Parameters vector_parameters() { return ckks::small_parameters(3, 2); }

struct VectorSession : MatrixSession<MatrixVectorProduct, PreparedMatrixVectorProduct> {
  explicit VectorSession(const MatrixVectorProduct& plan) : MatrixSession(vector_parameters(), plan, false) {}
};

struct VectorCase {
  const char* name;
  std::size_t rows, columns;
  MatrixVectorOptions options;
};

class MatrixVectorTest : public ::testing::TestWithParam<VectorCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, MatrixVectorTest,
                         ::testing::Values(VectorCase{"Square", 16, 16, {}}, VectorCase{"Wide", 4, 32, {}},
                                           VectorCase{"Tall", 32, 8, {}},
                                           VectorCase{"NoPowersOfTwo", 5, 19, {}},
                                           VectorCase{"OneRow", 1, 16, {}},
                                           VectorCase{"OneColumn", 16, 1, {}},
                                           VectorCase{"BabyStepsAlone", 16, 16, {.baby_steps = 16}},
                                           VectorCase{"GiantStepsAlone", 8, 16, {.baby_steps = 1}},
                                           VectorCase{"TallWithGiantSteps", 30, 8, {.baby_steps = 2}},
                                           VectorCase{"LowLevel", 16, 16, {.level = 1, .baby_steps = 4}},
                                           VectorCase{"OwnKeys", 16, 16, {.baby_steps = 4, .own_keys = true}},
                                           VectorCase{"WideWithOwnKeys", 4, 32, {.own_keys = true}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(MatrixVectorTest, IsTheProduct) {
  const auto& [name, rows, columns, options] = GetParam();
  const MatrixVectorProduct plan(vector_parameters(), rows, columns, options);
  const VectorSession session(plan);
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
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 0, 4), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 4, 0), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 4, 513), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 4, 4, {.baby_steps = 3}), ParameterError);
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 4, 4, {.level = 0}), LevelError);
  EXPECT_THROW(MatrixVectorProduct(vector_parameters(), 4, 4, {.level = 4}), LevelError);
  const MatrixVectorProduct plan(vector_parameters(), 4, 8);
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
      const MatrixVectorProduct plan(vector_parameters(), rows, columns, {.baby_steps = babies});
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

rlwe::Parameters batch_parameters(std::size_t digits = 2) { return ckks::small_parameters(3, digits); }

struct BatchSession : MatrixSession<MatrixBatchProduct, PreparedMatrixBatchProduct> {
  BatchSession(const rlwe::Parameters& own, const MatrixBatchProduct& plan)
      : MatrixSession(own, plan, false) {}
};

struct BatchCase {
  const char* name;
  std::size_t size;
  MatrixBatchOptions options;
  std::size_t digits = 2;
};

class MatrixBatchTest : public ::testing::TestWithParam<BatchCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, MatrixBatchTest,
                         ::testing::Values(BatchCase{"Two", 2, {}}, BatchCase{"Four", 4, {}},
                                           BatchCase{"Sixteen", 16, {}},
                                           BatchCase{"LowLevel", 8, {.level = 1}},
                                           BatchCase{"ManyDigits", 4, {}, 4}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(MatrixBatchTest, IsTheProductOfEachPair) {
  const auto& [name, d, options, digits] = GetParam();
  const MatrixBatchProduct plan(batch_parameters(digits), d, options);
  EXPECT_EQ(plan.pairs(), 512 / d);
  EXPECT_EQ(plan.ends().depth(), 1);
  const BatchSession session(batch_parameters(digits), plan);
  const Values left = ckks::random_values(plan.pairs() * d * d, 71);
  const Values right = ckks::random_values(plan.pairs() * d * d, 72);
  const rlwe::Ciphertext y = session.prepared(
      session.evaluator, session.client.encrypt(plan.pack(left, MatrixBatchProduct::Side::left), {d}),
      session.client.encrypt(plan.pack(right, MatrixBatchProduct::Side::right), {d}));
  EXPECT_EQ(y.meta.batch, rlwe::BatchShape{d});
  EXPECT_EQ(y.meta.level, plan.result_level());
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
  const Values found = plan.unpack(session.client.decrypt(y), MatrixBatchProduct::Side::right);
  double squares = 0;
  for (std::size_t pair = 0; pair < plan.pairs(); ++pair) {
    const Values expected = product(std::span(left).subspan(pair * d * d, d * d),
                                    std::span(right).subspan(pair * d * d, d * d), d, d, d);
    for (std::size_t i = 0; i < d * d; ++i) squares += std::norm(found[pair * d * d + i] - expected[i]);
  }
  const double measured = std::sqrt(squares / static_cast<double>(found.size()));
  // Entries of a square have a mean square of 2/3, not 1: of the factors' part alone.
  EXPECT_LT(std::abs(std::log2(measured / plan.expected_error().mean)), 0.5)
      << measured << " " << plan.expected_error().mean;
}

TEST(MatrixBatchProduct, PacksAndUnpacks) {
  const MatrixBatchProduct plan(batch_parameters(), 8);
  const Values matrices = ckks::random_values(plan.pairs() * 64, 73);
  for (const MatrixBatchProduct::Side side :
       {MatrixBatchProduct::Side::left, MatrixBatchProduct::Side::right}) {
    EXPECT_LT(ckks::largest_difference(plan.unpack(plan.pack(matrices, side), side), matrices), 1e-12);
  }
}

// The product is a right factor of the next.
TEST(MatrixBatchProduct, MultipliesProducts) {
  constexpr std::size_t d = 4;
  const MatrixBatchProduct first(batch_parameters(), d),
      second(batch_parameters(), d, {.level = first.result_level()});
  const BatchSession session(batch_parameters(), first);
  rlwe::EvaluationKeys keys = session.evaluator.keys();
  keys.merge(second.generate_keys(session.client.secret));
  const ckks::Evaluator evaluator(session.client.context, keys);
  const PreparedMatrixBatchProduct again(session.client.context, second);
  const Values a = ckks::random_values(first.pairs() * d * d, 74), b = ckks::random_values(a.size(), 75);
  const rlwe::Ciphertext left = session.client.encrypt(first.pack(a, MatrixBatchProduct::Side::left), {d});
  const rlwe::Ciphertext right = session.client.encrypt(first.pack(b, MatrixBatchProduct::Side::right), {d});
  const rlwe::Ciphertext y = again(evaluator, left, session.prepared(evaluator, left, right));
  const Values found = first.unpack(session.client.decrypt(y), MatrixBatchProduct::Side::right);
  double largest = 0;
  for (std::size_t pair = 0; pair < first.pairs(); ++pair) {
    const auto own = std::span(a).subspan(pair * d * d, d * d);
    const Values expected =
        product(own, product(own, std::span(b).subspan(pair * d * d, d * d), d, d, d), d, d, d);
    for (std::size_t i = 0; i < d * d; ++i) {
      largest = std::max(largest, std::abs(found[pair * d * d + i] - expected[i]));
    }
  }
  EXPECT_LT(largest, 1e-6);
}

// The bound of a slot: d^2 products of entries, which are no larger than the factors' slots.
TEST(MatrixBatchProduct, DeclaresWhatASlotCanBe) {
  const MatrixBatchProduct plan(batch_parameters(), 4);
  const BatchSession session(batch_parameters(), plan);
  rlwe::Ciphertext x = session.client.encrypt(ckks::random_values(4 * 512, 77), {4});
  EXPECT_EQ(session.prepared(session.evaluator, x, x).meta.largest, HUGE_VAL);
  x.meta.largest = 3;
  EXPECT_EQ(session.prepared(session.evaluator, x, x).meta.largest, 9 * 16);
}

TEST(MatrixBatchProduct, RefusesWhatDoesNotFit) {
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 0), ParameterError);
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 1), ParameterError);
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 12), ParameterError);
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 32), ParameterError);
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 4, {.level = 0}), LevelError);
  EXPECT_THROW(MatrixBatchProduct(batch_parameters(), 4, {.level = 4}), LevelError);
  const MatrixBatchProduct plan(batch_parameters(), 4, {.level = 2});
  EXPECT_THROW(static_cast<void>(plan.pack(Values(3), MatrixBatchProduct::Side::left)), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.unpack(Values(3), MatrixBatchProduct::Side::left)), ParameterError);
  const BatchSession session(batch_parameters(), plan);
  const Values x = ckks::random_values(8 * 512, 76);
  const rlwe::Ciphertext eight = session.client.encrypt(x, {8});
  const rlwe::Ciphertext four = session.client.encrypt(Values(x.begin(), x.begin() + 4 * 512), {4});
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, eight, four)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, four, eight)), MismatchError);
  EXPECT_THROW(
      static_cast<void>(session.prepared(
          session.evaluator, session.client.encrypt(Values(x.begin(), x.begin() + 4 * 256), {4}), four)),
      MismatchError);
  rlwe::Ciphertext low = session.evaluator.lower_to_level(four, 1);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, low, four)), LevelError);
  EXPECT_THROW(static_cast<void>(session.prepared(*session.client.evaluator, four, four)), MissingKeyError);
  const MatrixBatchProduct other(batch_parameters(3), 4);
  EXPECT_THROW(PreparedMatrixBatchProduct(session.client.context, other), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits::encrypted_matrices_tests
