// Declared bounds of values (Metadata::largest) in matrices and circuits of slots: results carry those that
// formulas give, and that values reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"

namespace hemera::circuits::linear_bounds_tests {
namespace {

using ckks::Values;
using rlwe::Ciphertext;

constexpr double infinite = std::numeric_limits<double>::infinity();

rlwe::Parameters up_to(double largest, std::size_t depth) {
  return ckks::parameters_for({.depth = depth,
                               .scale_bits = 40,
                               .slots = 64,
                               .largest = largest,
                               .degree = 1024,
                               .security = std::nullopt});
}

TEST(DeclaredBounds, CircuitsOfSlotsMultiplyThemByTheirSums) {
  const rlwe::Parameters parameters = up_to(4, 2);
  const auto run = [&](const SlotCircuit& plan) {
    const ckks::Session client(parameters);
    rlwe::EvaluationKeys keys = client.keys;
    keys.merge(plan.generate_keys(client.secret));
    const ckks::Evaluator evaluator(client.context, keys);
    return PreparedSlotCircuit(client.context, plan)(evaluator, client.encrypt(Values(64, 4))).meta.largest;
  };
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 8, .stride = 2}, false)), 32);
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 64, .stride = 1}, true)), 256);
  EXPECT_EQ(run(SlotCircuit::mask(parameters, std::vector<bool>(64, true))), 4);
  // A copy is as large as what is copied, and a sum that is copied as the sum.
  EXPECT_EQ(run(SlotCircuit::replication(parameters, 64, {.count = 8, .stride = 2}, 3)), 4);
  EXPECT_EQ(run(SlotCircuit::replication(parameters, 64, {.count = 64, .stride = 1}, 63)), 4);
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 8, .stride = 2}, true)), 32);
}

// The bound of a product is the largest that a vector within its own bound has: the largest sum of
// magnitudes in a row of the matrix, times that bound. Entries may exceed the bound of values, and be much
// smaller.
TEST(DeclaredBounds, OfMatricesAreReachedByAVector) {
  constexpr std::size_t slots = 8;
  for (const double largest : {0.25, 10.0}) {
    const rlwe::Parameters parameters = up_to(largest, 3);
    const ckks::Session client(parameters);
    for (const double entry : {0.01, 1.0, 40.0}) {
      Diagonals diagonals;
      std::vector<double> rows(slots);
      for (const std::size_t number : {0, 1, 5, 7}) {
        diagonals[number] = ckks::random_values(slots, number, entry);
        diagonals[number][5] *= 3;  // the largest row is not the first
        for (std::size_t k = 0; k < slots; ++k) rows[k] += std::abs(diagonals[number][k]);
      }
      const auto row = static_cast<std::size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
      Values x(slots);
      for (const auto& [number, diagonal] : diagonals) {
        x[(row + number) % slots] = largest * std::conj(diagonal[row]) / std::abs(diagonal[row]);
      }
      for (const LinearTransformOptions& options : std::initializer_list<LinearTransformOptions>{
               {}, {.fewest_keys = true}, {.rescaled = false}, {.level = 2}}) {
        const LinearTransform plan(parameters, diagonals, slots, options);
        const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
        const Ciphertext y = PreparedLinearTransform(client.context, plan)(evaluator, client.encrypt(x));
        EXPECT_NEAR(y.meta.largest / (largest * rows[row]), 1, 1e-12);
        EXPECT_NEAR(std::abs(client.decrypt(y)[row]), y.meta.largest, 1e-5 * (1 + entry));
      }
      // A smaller bound of some values, and none.
      const LinearTransform plan(parameters, diagonals, slots);
      const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
      const PreparedLinearTransform prepared(client.context, plan);
      const auto bound_of = [&](double own) {
        const auto some = client.encoder->encode(Values(slots), {}, {}, {}, own);
        return prepared(evaluator, ckks::encrypt(some, client.secret)).meta.largest;
      };
      EXPECT_EQ(bound_of(0), 0);
      EXPECT_NEAR(bound_of(0.125) / (0.125 * rows[row]), 1, 1e-12);
      EXPECT_EQ(bound_of(infinite), infinite);
    }
  }
}

// A permutation by many diagonals changes no bound; a sum of d products of two values is at most d times
// their bounds' product. Masks of ones are no values: they may exceed a bound below 1.
TEST(DeclaredBounds, OfPermutationsAndProductsOfMatrices) {
  constexpr std::size_t d = 4, slots = d * d;
  for (const double largest : {0.25, 1.0, 10.0}) {
    SCOPED_TRACE(largest);
    const rlwe::Parameters parameters = up_to(largest, 4);
    const ckks::Session client(parameters);
    const Ciphertext x = client.encrypt(Values(slots, largest));
    Diagonals reversal;  // slot k from slot -k
    for (std::size_t k = 0; k < slots; ++k) {
      auto& diagonal = reversal[(2 * slots - 2 * k) % slots];
      diagonal.resize(slots);
      diagonal[k] = 1;
    }
    const LinearTransform permutation(parameters, reversal, slots);
    const ckks::Evaluator evaluator(client.context, permutation.generate_keys(client.secret));
    EXPECT_EQ(PreparedLinearTransform(client.context, permutation)(evaluator, x).meta.largest, largest);
    for (const bool packed : {false, true}) {
      const MatrixProduct plan(parameters, d, {.packed = packed});
      const ckks::Evaluator own(client.context, plan.generate_keys(client.secret));
      const Ciphertext y = PreparedMatrixProduct(client.context, plan)(own, x, x);
      EXPECT_DOUBLE_EQ(y.meta.largest, d * largest * largest);
      EXPECT_LT(ckks::largest_difference(client.decrypt(y), Values(slots, d * largest * largest)), 1e-4);
    }
    const MatrixVectorProduct vector(parameters, d, slots);
    const ckks::Evaluator own(client.context, vector.generate_keys(client.secret));
    const Ciphertext m = client.encrypt(vector.pack(Values(d * slots, largest)), {d});
    const Ciphertext y = PreparedMatrixVectorProduct(client.context, vector)(own, m, x);
    EXPECT_DOUBLE_EQ(y.meta.largest, slots * largest * largest);
    EXPECT_LT(ckks::largest_difference(client.decrypt(y), Values(d, slots * largest * largest)), 1e-3);
  }
}

}  // namespace
}  // namespace hemera::circuits::linear_bounds_tests
