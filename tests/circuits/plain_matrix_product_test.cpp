// Matrices in the clear times encrypted rows, beside the product in the clear.
#include "hemera/circuits/linear/plain_matrix_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::plain_matrix_product_tests {
namespace {

using ckks::Values;

rlwe::Parameters parameters(int scale_bits = 40) { return ckks::small_parameters(3, 2, scale_bits); }

std::vector<double> random_weights(std::size_t count, double magnitude, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-magnitude, magnitude);
  std::vector<double> weights(count);
  for (double& weight : weights) weight = uniform(generator);
  return weights;
}

struct Case {
  const char* name;
  std::size_t rows, columns;
  double magnitude;
  PlainMatrixOptions options;
};

class PlainMatrixTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PlainMatrixTest,
    testing::Values(Case{"Square", 8, 8, 1, {}}, Case{"Wide", 3, 20, 1, {}}, Case{"Tall", 20, 3, 0.01, {}},
                    Case{"OneRow", 1, 7, 100, {}}, Case{"OneColumn", 7, 1, 1, {}},
                    Case{"EightBits", 6, 10, 2, {.bits = 8}}, Case{"LowLevel", 5, 6, 1, {.level = 1}},
                    Case{"NotRescaled", 5, 6, 1, {.bits = 8, .rescaled = false}},
                    Case{"NotRescaledAtTheBottom", 5, 6, 1, {.level = 0, .bits = 8, .rescaled = false}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// The judge: the product with the weights as they were given; then with their integers, for the noise alone.
TEST_P(PlainMatrixTest, IsTheProduct) {
  const auto& [name, rows, columns, magnitude, options] = GetParam();
  const std::vector<double> weights = random_weights(rows * columns, magnitude, 51);
  const PlainMatrixProduct plan(parameters(), rows, columns, weights, options);
  const ckks::Session client(parameters());
  const PreparedPlainMatrixProduct prepared(client.context, plan);
  const std::size_t slots = client.context->parameters().max_slots();
  const Values x = ckks::random_values(columns * slots, 52);
  const rlwe::Ciphertext y = prepared(*client.evaluator, client.encrypt(x, {columns}));
  EXPECT_EQ(y.meta.batch, rlwe::BatchShape{rows});
  EXPECT_EQ(y.meta.level, plan.result_level());
  EXPECT_TRUE(client.context->scales().close(y.meta.scale, plan.ends().result_scale));
  const Values w(weights.begin(), weights.end());
  Values rounded(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    rounded[i] = static_cast<double>(plan.integers()[i]) / plan.factor();
    EXPECT_LE(std::abs(rounded[i] - w[i]), magnitude / (options.bits == 8 ? 253 : 65000)) << i;
  }
  const Values found = client.decrypt(y);
  const Values expected = product(w, x, rows, columns, slots);
  const Values of_integers = product(rounded, x, rows, columns, slots);
  double squares = 0, own = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    squares += std::norm(found[i] - expected[i]);
    own += std::norm(found[i] - of_integers[i]);
  }
  const auto count = static_cast<double>(found.size());
  // Values of a square have a mean square of 2/3, not 1.
  const double weights_part = plan.rounding_of_weights() * std::sqrt(2.0 / 3);
  EXPECT_LT(std::abs(std::log2(std::sqrt(squares / count) / weights_part)), 0.3);
  const double noise =
      std::sqrt(std::pow(plan.expected_error().mean, 2) - std::pow(plan.rounding_of_weights(), 2));
  // Draws of few slots: a part of 0.005 of them is off by 0.6.
  EXPECT_LT(std::abs(std::log2(std::sqrt(own / count) / noise)), 1.0)
      << std::sqrt(own / count) << " " << noise;
}

// Other axes of the batch go along, inputs come from higher levels and wait for their rescale, and a second
// call has the bits of the first.
TEST(PlainMatrixProduct, TakesWhatOtherOperationsLeave) {
  const std::vector<double> weights = random_weights(2 * 3, 1, 54);
  const PlainMatrixProduct plan(parameters(), 2, 3, weights, {.level = 2});
  const ckks::Session client(parameters());
  const PreparedPlainMatrixProduct prepared(client.context, plan);
  const std::size_t slots = client.context->parameters().max_slots();
  const Values x = ckks::random_values(3 * 2 * slots, 55);
  const rlwe::Ciphertext square = client.evaluator->square(client.encrypt(x, {3, 2}));
  const rlwe::Ciphertext y = prepared(*client.evaluator, square);
  EXPECT_EQ(y.meta.batch, (rlwe::BatchShape{2, 2}));
  Values squares(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) squares[i] = x[i] * x[i];
  const Values expected = product(Values(weights.begin(), weights.end()), squares, 2, 3, 2 * slots);
  EXPECT_LT(ckks::largest_difference(client.decrypt(y), expected), 3e-4);
  const rlwe::Ciphertext again = prepared(*client.evaluator, square);
  EXPECT_EQ(client.decrypt(again), client.decrypt(y));
}

TEST(PlainMatrixProduct, EndsInOneDivision) {
  const PlainMatrixProduct plan(parameters(), 4, 6, random_weights(24, 1, 61));
  std::size_t divisions = 0;
  for (const auto& [entry, times] : plan.cost().entries) {
    EXPECT_NE(entry.operation, poly::Operation::multiply_scalar);
    if (entry.operation == poly::Operation::divide_and_round) divisions += times;
  }
  EXPECT_EQ(divisions, 1U);
}

// The factor is a quotient by a whole number, which is small for weights as small as the scale's unit.
TEST(PlainMatrixProduct, TakesTinyWeights) {
  const double tiny = 1.5 * 32767 / 0x1p40;
  const PlainMatrixProduct plan(parameters(), 1, 2, std::vector<double>{tiny, -tiny / 2});
  EXPECT_NEAR(plan.integers()[0] / plan.factor(), tiny, tiny / 10000);
  EXPECT_NEAR(plan.integers()[1] / plan.factor(), -tiny / 2, tiny / 10000);
}

TEST(PlainMatrixProduct, DeclaresWhatARowCanBe) {
  const std::vector<double> weights = {1, -2, 3, 0.5, 0, 0.25};
  for (const bool rescaled : {false, true}) {
    const PlainMatrixProduct plan(parameters(), 2, 3, weights, {.rescaled = rescaled});
    const ckks::Session client(parameters());
    const PreparedPlainMatrixProduct prepared(client.context, plan);
    rlwe::Ciphertext x = client.encrypt(ckks::random_values(3 * 512, 59), {3});
    x.meta.largest = 2;
    EXPECT_NEAR(prepared(*client.evaluator, x).meta.largest, 2 * 6, 0.01);
  }
}

TEST(PlainMatrixProduct, ZerosAreZeros) {
  const PlainMatrixProduct plan(parameters(), 2, 2, std::vector<double>(4, 0.0));
  const ckks::Session client(parameters());
  const PreparedPlainMatrixProduct prepared(client.context, plan);
  const std::size_t slots = client.context->parameters().max_slots();
  const Values x = ckks::random_values(2 * slots, 56);
  EXPECT_EQ(ckks::largest_difference(client.decrypt(prepared(*client.evaluator, client.encrypt(x, {2}))),
                                     Values(2 * slots)),
            0);
}

TEST(PlainMatrixProduct, RefusesWhatDoesNotFit) {
  const std::vector<double> weights = random_weights(6, 1, 57);
  const rlwe::Parameters own = parameters();
  EXPECT_THROW(PlainMatrixProduct(own, 0, 6, {}), ParameterError);
  EXPECT_THROW(PlainMatrixProduct(own, 6, 0, {}), ParameterError);
  EXPECT_THROW(PlainMatrixProduct(own, 2, 2, weights), ParameterError);
  EXPECT_THROW(PlainMatrixProduct(own, 2, 3, weights, {.bits = 12}), ParameterError);
  EXPECT_THROW(PlainMatrixProduct(own, 1, 1, std::vector<double>{HUGE_VAL}), ParameterError);
  EXPECT_THROW(PlainMatrixProduct(own, 2, 3, weights, {.level = 4}), LevelError);
  EXPECT_THROW(PlainMatrixProduct(own, 2, 3, weights, {.level = 0}), LevelError);
  const PlainMatrixProduct plan(own, 2, 3, weights);
  const ckks::Session client(own), other(parameters(35));
  EXPECT_THROW(PreparedPlainMatrixProduct(other.context, plan), MismatchError);
  const PreparedPlainMatrixProduct prepared(client.context, plan);
  const std::size_t slots = own.max_slots();
  const Values x = ckks::random_values(4 * slots, 58);
  EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, client.encrypt(x, {4}))), MismatchError);
  EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, client.encrypt(x, {2, 2}))), MismatchError);
  const Values one(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(slots));
  EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, client.encrypt(one))), MismatchError);
  const Values three(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(3 * slots));
  rlwe::Ciphertext low = client.encrypt(three, {3});
  client.evaluator->lower_to_level_inplace(low, 1);
  EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, low)), LevelError);
}

}  // namespace
}  // namespace hemera::circuits::plain_matrix_product_tests
