// Matrices in the clear times short vectors, side by side in slots, beside the product in the clear.
#include "hemera/circuits/linear/periodic_transform.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "circuits/matrix_support.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using ckks::Values;

struct PeriodicCase {
  const char* name;
  std::size_t rows, columns, period;
  PeriodicTransformOptions options = {};
  std::size_t digits = 2;
  bool is_complex = false;
};

// Their imaginary parts are 0 unless they are complex.
Values uniform_weights(std::size_t count, bool is_complex, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Values weights(count);
  for (auto& weight : weights) weight = {uniform(generator), is_complex ? uniform(generator) : 0};
  return weights;
}

class PeriodicTransformTest : public ::testing::TestWithParam<PeriodicCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, PeriodicTransformTest,
    ::testing::Values(PeriodicCase{"Square", 16, 16, 16}, PeriodicCase{"Tall", 48, 16, 16},
                      PeriodicCase{"Wide", 16, 64, 16, {.baby_steps = 4}},
                      PeriodicCase{"PartsOfCiphertexts", 5, 21, 8, {.baby_steps = 2}},
                      PeriodicCase{"LowLevel", 32, 32, 16, {.level = 1}},
                      PeriodicCase{"BabyStepsAlone", 8, 8, 8, {.baby_steps = 8}},
                      PeriodicCase{"GiantStepsAlone", 8, 16, 8, {.baby_steps = 1}},
                      PeriodicCase{"HalfOfTheSlots", 250, 300, 256}, PeriodicCase{"Pairs", 2, 2, 2},
                      PeriodicCase{"ManyDigits", 24, 24, 8, {}, 4},
                      PeriodicCase{"GroupsOfResults", 40, 24, 8, {.results_at_once = 2}},
                      PeriodicCase{"EncodedInEachCall", 40, 24, 8, {.kept = false, .results_at_once = 3}},
                      PeriodicCase{"ManyDiagonals", 192, 192, 16},
                      PeriodicCase{"ComplexWeights", 40, 24, 8, {}, 2, true},
                      PeriodicCase{"ComplexInEachCall", 40, 24, 8, {.kept = false}, 2, true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(PeriodicTransformTest, IsTheProductWithEachVector) {
  const auto& [name, rows, columns, period, options, digits, is_complex] = GetParam();
  const rlwe::Parameters parameters = ckks::small_parameters(3, digits);
  const std::size_t slots = parameters.max_slots(), vectors = slots / period;
  const Values weights = uniform_weights(rows * columns, is_complex, 51);
  const PeriodicTransform plan(parameters, rows, columns, weights, period, options);
  EXPECT_EQ(plan.input_ciphertexts(), (columns + period - 1) / period);
  EXPECT_EQ(plan.result_ciphertexts(), (rows + period - 1) / period);
  EXPECT_EQ(plan.ends().depth(), 1);
  const MatrixSession<PeriodicTransform, PreparedPeriodicTransform> session(parameters, plan, false);
  double squares = 0;
  std::size_t count = 0;
  for (std::uint64_t seed = 0; seed < 2 || count < 2000; ++seed) {
    const Values x = ckks::random_values(columns * vectors, 52 + seed);  // [entry, vector]
    Values packed(plan.input_ciphertexts() * slots);
    for (std::size_t entry = 0; entry < columns; ++entry) {
      for (std::size_t v = 0; v < vectors; ++v) {
        packed[entry / period * slots + v * period + entry % period] = x[entry * vectors + v];
      }
    }
    const rlwe::Ciphertext y =
        session.prepared(session.evaluator, session.client.encrypt(packed, {plan.input_ciphertexts()}));
    EXPECT_EQ(y.meta.batch, rlwe::BatchShape{plan.result_ciphertexts()});
    EXPECT_EQ(y.meta.level, plan.result_level());
    EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
    const Values found = session.client.decrypt(y);
    const Values expected = product(weights, x, rows, columns, vectors);
    double largest = 0;
    for (std::size_t row = 0; row < plan.result_ciphertexts() * period; ++row) {
      for (std::size_t v = 0; v < vectors; ++v) {
        const auto own = found[row / period * slots + v * period + row % period];
        const double error = std::abs(own - (row < rows ? expected[row * vectors + v] : 0.0));
        largest = std::max(largest, error);
        if (row < rows) squares += error * error;
      }
    }
    EXPECT_LT(largest, 1e-4);
    count += rows * vectors;
  }
  // Inputs that are lowered to the level have one rounding more.
  const double rounding = division_error(parameters, slots) / plan.ends().scale;
  const double predicted = plan.expected_error(options.level ? std::sqrt(2) * rounding : rounding).mean;
  const double measured = std::sqrt(squares / static_cast<double>(count));
  EXPECT_LT(std::abs(std::log2(measured / predicted)), 0.5) << measured << " " << predicted;
}

TEST(PeriodicTransform, TakesTheStepsOfDiagonalsThatAreNotZero) {
  const rlwe::Parameters parameters = ckks::small_parameters(3, 2);
  std::vector<double> blocks(16 * 16);  // of 4 x 4: diagonals from -3 to 3
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 4; ++j) blocks[16 * i + i / 4 * 4 + j] = 1;
  }
  const PeriodicTransform plan(parameters, 16, 16, blocks, 16, {.baby_steps = 4});
  EXPECT_EQ(plan.baby_steps(), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(plan.giant_steps(), (std::vector<std::size_t>{0, parameters.max_slots() - 4}));
  EXPECT_EQ(plan.needed_keys().size(), 4);
}

TEST(PeriodicTransform, NamesWhatDoesNotFit) {
  const rlwe::Parameters parameters = ckks::small_parameters(3, 2);
  const std::vector<double> weights(16, 1);
  const auto make = [&](std::size_t period, const PeriodicTransformOptions& options = {}) {
    return PeriodicTransform(parameters, 4, 4, weights, period, options);
  };
  for (const std::size_t period : {std::size_t{0}, std::size_t{1}, std::size_t{12}, parameters.max_slots()}) {
    EXPECT_THROW(static_cast<void>(make(period)), ParameterError) << period;
  }
  EXPECT_THROW(static_cast<void>(make(4, {.baby_steps = 3})), ParameterError);
  EXPECT_THROW(static_cast<void>(make(4, {.baby_steps = 8})), ParameterError);
  EXPECT_THROW(static_cast<void>(make(4, {.level = 0})), LevelError);
  EXPECT_THROW(PeriodicTransform(parameters, 4, 3, weights, 4), ParameterError);
  EXPECT_THROW(PeriodicTransform(parameters, 4, 4, std::vector<double>(16), 4), ParameterError);
  EXPECT_THROW(PeriodicTransform(parameters, 4, 4, std::vector<double>(16, NAN), 4), ParameterError);
}

}  // namespace
}  // namespace hemera::circuits
