// Matrices in the clear times matrices of few columns, several rows to a ciphertext, beside the product in
// the clear.
#include "hemera/circuits/linear/packed_rows_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>

#include "circuits/matrix_support.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using ckks::Values;

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

class PackedRowsTest : public testing::TestWithParam<PackedCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PackedRowsTest,
    testing::Values(PackedCase{"Square", 32, 32, 32, 16}, PackedCase{"PartsOfGroups", 19, 37, 32, 16},
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
}  // namespace hemera::circuits
