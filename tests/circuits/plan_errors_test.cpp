// Errors that plans report: formulas, and errors of runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::plan_errors {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

// Errors of the inputs are beside those of the bootstrap, in the worst slot as well.
TEST(PlanNumbers, ErrorsOfABootstrapHaveThoseOfItsInputs) {
  const Bootstrap plan(parameters_for_bootstrapping(bootstrap_preset("test-40")), {.slots = 64});
  const ExpectedError own = plan.expected_error(0), more = plan.expected_error(1e-3);
  EXPECT_NEAR(more.mean, std::hypot(own.mean, 1e-3), 1e-12);
  EXPECT_NEAR(more.worst, std::hypot(own.worst, 1e-3), 1e-12);
}

constexpr double large = 1e-3;  // of the inputs: nothing else counts

// y_k = sum_j d_j[k] x_(k + j): sqrt(sum_j |d_j[k]|^2) times the error of the inputs in slot k.
TEST(PlanNumbers, WorstSlotOfATransformIsThatOfTheLargestRow) {
  constexpr std::size_t slots = 64;
  Diagonals diagonals;
  std::vector<double> squares(slots);
  for (const std::size_t number : {0, 5, 9}) {
    diagonals[number] = ckks::random_values(slots, number, 0.5);
    diagonals[number][17] *= 20;
    for (std::size_t k = 0; k < slots; ++k) squares[k] += std::norm(diagonals[number][k]);
  }
  double sum = 0, most = 0;
  for (const double square : squares) {
    sum += square / slots;
    most = std::max(most, square);
  }
  for (const bool fewest_keys : {false, true}) {
    const LinearTransform plan(parameters(), diagonals, slots, {.fewest_keys = fewest_keys});
    EXPECT_NEAR(plan.expected_error(large).mean / (std::sqrt(sum) * large), 1, 1e-3);
    EXPECT_NEAR(plan.expected_error(large).worst / (std::sqrt(most) * large), 1, 1e-3);
  }
}

// Each product of factors of magnitude 1 has the errors of both; as many are added as there are columns.
TEST(PlanNumbers, ErrorsOfMatricesAreThoseOfBothFactors) {
  const rlwe::Parameters own = parameters();
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{16, 16}, {4, 64}, {64, 4}, {16, 1}}) {
    const MatrixVectorProduct plan(own, rows, columns);
    const double expected = std::sqrt(2 * static_cast<double>(columns)) * large;
    EXPECT_NEAR(plan.expected_error(large).mean / expected, 1, 1e-3) << rows << " x " << columns;
  }
  for (const std::size_t size : {2, 8}) {
    for (const bool packed : {false, true}) {
      const MatrixProduct plan(own, size, {.packed = packed});
      const double expected = std::sqrt(2 * static_cast<double>(size)) * large;
      EXPECT_NEAR(plan.expected_error(large).mean / expected, 1, 1e-3) << size;
    }
  }
}

// x^2 and x on [-1, 3]: the slopes are 2 x and 1, the mean of x^2 is 7/3, and the steepest place is 3.
TEST(PlanNumbers, ErrorsOfAFunctionAreTheMeanOfItsOutputs) {
  Function function(std::vector{Interval{-1, 3}});
  const auto square = function.add({.products = {{0, 0}}});
  function.set_outputs({square});
  EXPECT_NEAR(FunctionPlan(parameters(), function).expected_error(large).mean / large, std::sqrt(28.0 / 3),
              1e-3);
  for (const auto& outputs : {std::vector<Function::Value>{square, 0}, {0, square}}) {
    function.set_outputs(outputs);
    const ExpectedError error = FunctionPlan(parameters(), function).expected_error(large);
    EXPECT_NEAR(error.mean / large, std::sqrt((28.0 / 3 + 1) / 2), 1e-3);
    EXPECT_NEAR(error.worst / large, 6, 1e-3);
  }
}

// sigma sqrt(2n N sum_d k_d / 12 (D_d / P)^2) for digits of k_d primes with product D_d (docs/noise.md).
double switching(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget, std::size_t slots) {
  double special = 1, sum = 0;
  for (const std::uint64_t prime : gadget.special) special *= static_cast<double>(prime);
  for (const auto& digit : gadget.digits) {
    double product = 1;
    for (const std::uint64_t prime : digit) product *= static_cast<double>(prime);
    sum += static_cast<double>(digit.size()) / 12 * std::pow(product / special, 2);
  }
  const auto coefficients = static_cast<double>(2 * slots), degree = static_cast<double>(parameters.degree());
  return parameters.literal().sigma * std::sqrt(coefficients * degree * sum);
}

// A sum of two rows, a mask, and a copy: each with the key of its own level. Exact inputs: what is left are
// both key switches, their divisions, the rounding of the mask and the rescale.
TEST(PlanNumbers, ErrorsOfACircuitOfSlotsAreThoseOfBothLevels) {
  rlwe::ParametersLiteral literal = parameters().literal();
  // One digit, which is longer than P at the higher level.
  literal.digits = {literal.levels.back()};
  literal.special_primes.resize(3);
  literal.roots.clear();
  const rlwe::Parameters own(literal);
  constexpr std::size_t slots = 64, level = 3;
  const SlotCircuit plan = SlotCircuit::inner_sum(own, slots, {.count = 2, .stride = 1}, true,
                                                  {.level = level, .fewest_keys = true});
  const rlwe::ScalePolicy scales(own);
  const double scale = scales.level_scale(level), below = scales.level_scale(level - 1);
  const double before = switching(own, own.default_gadget(level), slots);
  const double after = switching(own, own.default_gadget(level - 1), slots);
  const auto n = static_cast<double>(own.degree());
  const double division = 2.0 * slots * (1 + 2 * n / 3) / 12;
  ASSERT_GT(before * before + division, 1.01 * (after * after + division));
  const double plain = below * scales.policy().scales[level].divisor / scale;
  const double sum = (before * before + division) / (scale * scale);
  const double own_error = 2 * (2.0 * slots) / 12 / (plain * plain) + division / (below * below);
  // Half of the slots are kept, and each is there twice.
  const double expected = sum + 2 * own_error + (after * after + division) / (below * below);
  EXPECT_NEAR(plan.expected_error(0).mean / std::sqrt(expected), 1, 1e-4);
}

// Both factors go through as many roundings: that of the left one is not left out.
TEST(PlanNumbers, ErrorsOfMatrixProductsAreThoseOfARun) {
  constexpr std::size_t size = 16, batch = 8;
  const MatrixProduct plan(parameters(), size);
  const ckks::Session client(parameters());
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  Values left = ckks::random_values(batch * plan.slots(), 50), right = ckks::random_values(plan.slots(), 51);
  for (Values* each : {&left, &right}) {
    for (Complex& value : *each) value /= std::abs(value);  // the model's magnitude
  }
  const auto encrypt = [&](const Values& x, const rlwe::BatchShape& shape) {
    return ckks::encrypt(client.encoder->encode(x, shape), client.secret);
  };
  const Values found = client.decrypt(
      PreparedMatrixProduct(client.context, plan)(evaluator, encrypt(left, {batch}), encrypt(right, {})));
  Values expected;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto one = std::span(left).subspan(i * plan.slots(), plan.slots());
    const Values c = product(one, right, size, size, size);
    expected.insert(expected.end(), c.begin(), c.end());
  }
  // Errors of encryptions with the secret key: sigma in 2n coefficients, and the rounding of the encoding.
  const double fresh =
      std::sqrt(2.0 * static_cast<double>(plan.slots()) * (3.19 * 3.19 + 1.0 / 12)) / plan.ends().scale;
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error(fresh).mean), 0, 0.25);
}

// x - 3 y: each input has its own slope.
TEST(PlanNumbers, ErrorsOfAFunctionAreThoseOfAllInputs) {
  Function function(std::vector(2, Interval{}));
  function.set_outputs({function.add({.terms = {{0, {1}}, {1, {-3}}}})});
  const ExpectedError error = FunctionPlan(parameters(), function).expected_error(large);
  EXPECT_NEAR(error.mean / large, std::sqrt(10.0), 1e-3);
  EXPECT_NEAR(error.worst / large, std::sqrt(10.0), 1e-3);
}

// Steps by few keys: each of up to 15 is turned from the one before, a stride apart, and rounds once more.
TEST(PlanNumbers, ErrorsOfStepsByFewKeysAreThoseOfARun) {
  constexpr std::size_t stride = 16;
  Diagonals diagonals;
  for (std::size_t i = 0; i < 16; ++i) {
    diagonals[stride * i] = ckks::random_values(test_slots, i);
  }
  const LinearTransform plan(parameters(), diagonals, test_slots, {.baby_steps = 16, .fewest_keys = true});
  ASSERT_EQ(plan.rotations(), std::vector<std::size_t>{stride});
  const ckks::Session client(parameters());
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  const Values x = ckks::random_values(test_slots, 40);
  Values expected(test_slots);
  for (const auto& [number, diagonal] : diagonals) {
    for (std::size_t k = 0; k < test_slots; ++k) {
      expected[k] += diagonal[k] * x[(k + number) % test_slots];
    }
  }
  const Values found =
      client.decrypt(PreparedLinearTransform(client.context, plan)(evaluator, client.encrypt(x)));
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error().mean), 0, 0.5);
}

}  // namespace
}  // namespace hemera::circuits::plan_errors
