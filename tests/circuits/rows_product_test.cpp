// Matrices in the clear times encrypted rows, one or several to a ciphertext, beside the product in the
// clear.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/circuits/linear/packed_rows_product.hpp"
#include "hemera/circuits/linear/plain_matrix_product.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::rows_product_tests {
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

class PlainMatrixTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PlainMatrixTest,
    ::testing::Values(Case{"Square", 8, 8, 1, {}}, Case{"Wide", 3, 20, 1, {}}, Case{"Tall", 20, 3, 0.01, {}},
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
  EXPECT_LT(client.error(y, expected), 3e-4);
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
  EXPECT_EQ(client.error(prepared(*client.evaluator, client.encrypt(x, {2})), Values(2 * slots)), 0);
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

rlwe::Parameters packed_parameters(std::size_t digits = 2) { return ckks::small_parameters(3, digits); }

struct PackedCase {
  const char* name;
  std::size_t rows, columns, vectors, parts;
  PackedRowsOptions options = {};
  std::size_t digits = 2;
  double magnitude = 1;
};

std::vector<double> uniform_weights(const PackedCase& tested, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-tested.magnitude, tested.magnitude);
  std::vector<double> weights(tested.rows * tested.columns);
  for (double& weight : weights) weight = uniform(generator);
  return weights;
}

class PackedRowsTest : public ::testing::TestWithParam<PackedCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PackedRowsTest,
    ::testing::Values(PackedCase{"Square", 32, 32, 32, 16}, PackedCase{"PartsOfGroups", 19, 37, 32, 16},
                      PackedCase{"OneGroup", 5, 3, 64, 8}, PackedCase{"FewVectors", 20, 20, 3, 16},
                      PackedCase{"NoPowerOfTwo", 9, 17, 70, 4}, PackedCase{"TwoParts", 5, 6, 256, 2},
                      PackedCase{"EightBits", 32, 64, 32, 16, {.bits = 8}},
                      PackedCase{"LowLevel", 16, 32, 32, 16, {.level = 1}},
                      PackedCase{"ManyDigits", 16, 16, 64, 8, {}, 4},
                      PackedCase{"SmallWeights", 8, 48, 32, 16, {}, 2, 0.001}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(PackedRowsTest, IsTheProduct) {
  const PackedCase& tested = GetParam();
  const auto& [name, rows, columns, vectors, parts, options, digits, magnitude] = tested;
  const std::vector<double> weights = uniform_weights(tested, 91);
  const PackedRowsProduct plan(packed_parameters(digits), rows, columns, weights, vectors, options);
  EXPECT_EQ(plan.parts(), parts);
  EXPECT_EQ(plan.input_ciphertexts(), (columns + parts - 1) / parts);
  EXPECT_EQ(plan.ends().depth(), 1);
  const MatrixSession<PackedRowsProduct, PreparedPackedRowsProduct> session(packed_parameters(digits), plan,
                                                                            false);
  double squares = 0;
  std::size_t count = 0;
  // Enough entries for a mean square within a few percent.
  for (std::uint64_t seed = 0; seed < 4 || count < 2000; ++seed) {
    const Values x = ckks::random_values(columns * vectors, 92 + seed);
    const rlwe::Ciphertext y =
        session.prepared(session.evaluator, session.client.encrypt(plan.pack(x), {plan.input_ciphertexts()}));
    EXPECT_EQ(y.meta.batch, rlwe::BatchShape{plan.result_ciphertexts()});
    EXPECT_EQ(y.meta.level, plan.result_level());
    EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
    Values rounded(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      rounded[i] = static_cast<double>(plan.product().integers()[i]) / plan.product().factor();
    }
    const Values found = plan.unpack(session.client.decrypt(y), rows);
    const Values expected = product(rounded, x, rows, columns, vectors);
    EXPECT_LT(ckks::largest_difference(found, expected), 1e-4 * magnitude);
    EXPECT_LE(ckks::largest_difference(
                  expected, product(Values(weights.begin(), weights.end()), x, rows, columns, vectors)),
              magnitude * static_cast<double>(columns) / (options.bits == 8 ? 253 : 65000));
    for (std::size_t i = 0; i < found.size(); ++i) squares += std::norm(found[i] - expected[i]);
    count += found.size();
  }
  // Noise of fresh encryptions times the rows' norms, of the packing's keys and division, and of the rescale.
  double norms = 0;
  for (const std::int16_t weight : plan.product().integers()) {
    norms += squared(weight / plan.product().factor()) / static_cast<double>(rows);
  }
  const double rounding = division_error(plan.parameters(), plan.parameters().max_slots());
  const double key =
      switching_error(plan.parameters(), plan.needed_keys().front().gadget, plan.parameters().max_slots());
  const double sums_scale = plan.ends().scale * plan.product().factor();
  const double noise =
      std::sqrt((norms * squared(rounding / plan.ends().scale) +
                 (squared(rounding) + static_cast<double>(parts) * squared(key)) / squared(sums_scale) +
                 squared(rounding / plan.ends().result_scale)) /
                static_cast<double>(parts));
  EXPECT_NEAR(plan.expected_error().mean, std::hypot(noise, plan.product().rounding_of_weights()),
              1e-12 * plan.expected_error().mean);
  EXPECT_NEAR(plan.expected_error(1).mean, std::sqrt(norms / static_cast<double>(parts)),
              1e-2 * plan.expected_error(1).mean + noise);
  const double measured = std::sqrt(squares / static_cast<double>(count));
  // Inputs that are lowered to the level have one rounding more.
  const double lowered = options.level.has_value() ? norms * squared(rounding / plan.ends().scale) : 0;
  const double predicted = std::sqrt(squared(noise) + lowered / static_cast<double>(parts));
  EXPECT_LT(std::abs(std::log2(measured / predicted)), 0.3) << measured << " " << predicted;
}

TEST(PackedRowsProduct, PacksAndUnpacks) {
  const PackedRowsProduct plan(packed_parameters(), 3, 3, std::vector<double>(9, 1.0), 48);
  for (const std::size_t rows : {1, 7, 8, 21}) {
    const Values matrix = ckks::random_values(rows * 48, rows);
    const Values packed = plan.pack(matrix);
    EXPECT_EQ(packed.size(), (rows + 7) / 8 * 512);
    EXPECT_LT(ckks::largest_difference(plan.unpack(packed, rows), matrix), 1e-12);
    for (std::size_t slot = 0; slot < packed.size(); ++slot) {
      ASSERT_TRUE(slot % 64 < 48 || packed[slot] == 0.0) << slot;
    }
  }
}

// The roots of the transforms are powers of X^R as long as R^2 <= 2N.
TEST(PackedRowsProduct, HasRowsOfACiphertext) {
  for (const auto& [degree, vectors, parts] :
       {std::tuple{16384, 1, 128}, {16384, 64, 128}, {16384, 65, 64}, {8192, 32, 128}, {8192, 2048, 2}}) {
    const rlwe::Parameters large = ckks::parameters_from_bits({.degree = static_cast<std::size_t>(degree),
                                                               .prime_bits = {50, 40},
                                                               .special_bits = {50},
                                                               .scale = 0x1p40});
    const PackedRowsProduct plan(large, 1, 1, std::vector<double>{1}, static_cast<std::size_t>(vectors));
    EXPECT_EQ(plan.parts(), static_cast<std::size_t>(parts)) << degree << " " << vectors;
  }
}

// A product is the input of the next, and of others after a rescale.
TEST(PackedRowsProduct, MultipliesProducts) {
  const PackedCase shape{"", 24, 24, 32, 16};
  const std::vector<double> w = uniform_weights(shape, 93);
  const PackedRowsProduct first(packed_parameters(), 24, 24, w, 32),
      second(packed_parameters(), 24, 24, w, 32, {.level = first.result_level()});
  const MatrixSession<PackedRowsProduct, PreparedPackedRowsProduct> session(packed_parameters(), first, true);
  rlwe::EvaluationKeys keys = session.evaluator.keys();
  keys.merge(second.generate_keys(session.client.secret));
  const ckks::Evaluator evaluator(session.client.context, keys);
  const PreparedPackedRowsProduct again(session.client.context, second);
  const Values x = ckks::random_values(24 * 32, 94), weights(w.begin(), w.end());
  const rlwe::Ciphertext in = session.client.encrypt(first.pack(x), {2});
  const Values found =
      first.unpack(session.client.decrypt(again(evaluator, session.prepared(evaluator, in))), 24);
  const Values once = product(weights, x, 24, 24, 32);
  EXPECT_LT(ckks::largest_difference(found, product(weights, once, 24, 24, 32)), 1e-2);
  // From a higher level, and a second call with the bits of the first.
  const rlwe::Ciphertext low = again(evaluator, in), same = again(evaluator, in);
  EXPECT_LT(ckks::largest_difference(first.unpack(session.client.decrypt(low), 24), once), 1e-2);
  EXPECT_EQ(session.client.decrypt(low), session.client.decrypt(same));
}

// The bound of a slot of the result: a sum of 16 rows, each a sum with weights.
TEST(PackedRowsProduct, DeclaresWhatASlotCanBe) {
  const PackedRowsProduct plan(packed_parameters(), 2, 3, std::vector<double>{1, -2, 3, 0.5, 0, 0.25}, 32);
  const MatrixSession<PackedRowsProduct, PreparedPackedRowsProduct> session(packed_parameters(), plan, false);
  rlwe::Ciphertext x = session.client.encrypt(ckks::random_values(512, 95), {1});
  x.meta.largest = 2;
  const rlwe::Ciphertext y = session.prepared(session.evaluator, x);
  EXPECT_NEAR(y.meta.largest, 2 * 6 * 16, 0.1);
  EXPECT_TRUE(y.meta.is_complex);
}

TEST(PackedRowsProduct, RefusesWhatDoesNotFit) {
  const std::vector<double> weights(9, 1.0);
  const rlwe::Parameters own = packed_parameters();
  for (const std::size_t vectors : {0, 257, 1024}) {
    EXPECT_THROW(PackedRowsProduct(own, 3, 3, weights, vectors), ParameterError);
  }
  EXPECT_THROW(PackedRowsProduct(own, 3, 2, weights, 32), ParameterError);
  EXPECT_THROW(PackedRowsProduct(own, 3, 3, weights, 32, {.bits = 7}), ParameterError);
  EXPECT_THROW(PackedRowsProduct(own, 3, 3, weights, 32, {.level = 0}), LevelError);
  EXPECT_THROW(PackedRowsProduct(own, 3, 3, weights, 32, {.level = 4}), LevelError);
  const PackedRowsProduct plan(own, 3, 3, weights, 32, {.level = 2});
  EXPECT_THROW(static_cast<void>(plan.pack(Values(33))), ParameterError);
  EXPECT_THROW(static_cast<void>(plan.unpack(Values(512), 17)), ParameterError);
  const MatrixSession<PackedRowsProduct, PreparedPackedRowsProduct> session(own, plan, false);
  const Values x = ckks::random_values(2 * 512, 96);
  const rlwe::Ciphertext two = session.client.encrypt(x, {2});
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, two)), MismatchError);
  const Values half(x.begin(), x.begin() + 256), whole(x.begin(), x.begin() + 512);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, session.client.encrypt(half, {1}))),
               MismatchError);
  rlwe::Ciphertext low = session.client.encrypt(whole, {1});
  EXPECT_THROW(static_cast<void>(session.prepared(*session.client.evaluator, low)), MissingKeyError);
  session.evaluator.lower_to_level_inplace(low, 1);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, low)), LevelError);
  const PackedRowsProduct other(packed_parameters(3), 3, 3, weights, 32);
  EXPECT_THROW(PreparedPackedRowsProduct(session.client.context, other), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits::rows_product_tests
