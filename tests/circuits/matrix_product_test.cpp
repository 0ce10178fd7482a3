// Products of encrypted matrices, beside those in the clear.
#include "hemera/circuits/linear/matrix_product.hpp"

#include <gtest/gtest.h>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::matrix_product_tests {
namespace {

using ckks::Complex;
using ckks::Values;
using Side = MatrixProduct::Side;

rlwe::Parameters parameters() { return ckks::small_parameters(4, 2); }

struct Session : MatrixSession<MatrixProduct, PreparedMatrixProduct> {
  explicit Session(const MatrixProduct& plan) : MatrixSession(parameters(), plan, false) {}
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
  const Session session(plan);
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

}  // namespace
}  // namespace hemera::circuits::matrix_product_tests
