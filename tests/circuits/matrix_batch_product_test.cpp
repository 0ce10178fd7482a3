// Batches of encrypted matrices times each other, beside products in the clear.
#include "hemera/circuits/linear/matrix_batch_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using ckks::Values;
using Side = MatrixBatchProduct::Side;

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
  const rlwe::Ciphertext y =
      session.prepared(session.evaluator, session.client.encrypt(plan.pack(left, Side::left), {d}),
                       session.client.encrypt(plan.pack(right, Side::right), {d}));
  EXPECT_EQ(y.meta.batch, rlwe::BatchShape{d});
  EXPECT_EQ(y.meta.level, plan.result_level());
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
  const Values found = plan.unpack(session.client.decrypt(y), Side::right);
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
  for (const Side side : {Side::left, Side::right}) {
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
  const rlwe::Ciphertext left = session.client.encrypt(first.pack(a, Side::left), {d});
  const rlwe::Ciphertext right = session.client.encrypt(first.pack(b, Side::right), {d});
  const rlwe::Ciphertext y = again(evaluator, left, session.prepared(evaluator, left, right));
  const Values found = first.unpack(session.client.decrypt(y), Side::right);
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
  EXPECT_THROW(static_cast<void>(plan.pack(Values(3), Side::left)), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.unpack(Values(3), Side::left)), ParameterError);
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
  rlwe::Ciphertext low = four.clone();
  session.evaluator.lower_to_level_inplace(low, 1);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, low, four)), LevelError);
  EXPECT_THROW(static_cast<void>(session.prepared(*session.client.evaluator, four, four)), MissingKeyError);
  const MatrixBatchProduct other(batch_parameters(3), 4);
  EXPECT_THROW(PreparedMatrixBatchProduct(session.client.context, other), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits
