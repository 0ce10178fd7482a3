// Diagonals that are wrapped around the rows or the columns of a matrix, and keys of a transform's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::wrapped_transform_tests {
namespace {

using ckks::Complex;
using ckks::Values;
using Session = MatrixSession<LinearTransform, PreparedLinearTransform>;

constexpr std::size_t slots = 64;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

DenseMatrix<Complex> dense(const Values& matrix, std::size_t rows, std::size_t columns) {
  return {rows, columns, matrix};
}

// What a circuit does, in words of memory traffic, of which transforms count thrice.
double work_of(const LinearTransform& plan) {
  const Work work = plan.cost().total_work();
  return static_cast<double>(work.key_products + work.products + 3 * (work.mod_ups + work.divisions));
}

// Entry (r, c) of the matrix is that of its diagonal where the definition says, and nothing else is there.
TEST(WrappedDiagonals, LieWhereTheDefinitionSays) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{3, 64}, {4, 50}, {1, 64}, {20, 33}}) {
    const Values matrix = ckks::random_values(rows * columns, rows);
    for (std::size_t period = 1; period <= slots; period *= 2) {
      if (period >= rows) {
        const MatrixDiagonals found =
            diagonals_of(dense(matrix, rows, columns), slots, {.result_period = period});
        Values again(rows * columns);
        std::size_t entries = 0;
        for (const auto& [number, diagonal] : found.map()) {
          ASSERT_LT(number, period);
          for (std::size_t k = 0; k < slots; ++k) {
            if (diagonal[k] == 0.0) continue;
            ++entries;
            again.at(k % period * columns + (k + number) % slots) = diagonal[k];
          }
        }
        EXPECT_EQ(entries, rows * columns);
        EXPECT_EQ(again, matrix);
      }
      if (period < columns) continue;
      const MatrixDiagonals tall =
          diagonals_of(dense(matrix, rows, columns), slots, {.vector_period = period});
      Values again(rows * columns);
      for (const auto& [number, diagonal] : tall.map()) {
        ASSERT_LT(number, period);
        for (std::size_t k = 0; k < rows; ++k) {
          const std::size_t column = (k + number) % period;
          if (column < columns) again[k * columns + column] = diagonal[k];
        }
      }
      EXPECT_EQ(again, matrix);
    }
  }
}

// With every period, and with one key after the other: all slots of the result repeat.
TEST(WrappedDiagonals, AreTheProductOfWideMatrices) {
  const std::size_t rows = 3, columns = 50;
  const Values matrix = ckks::random_values(rows * columns, 1);
  Values x = ckks::random_values(slots, 2);  // what lies behind the columns does not matter
  const Values y = product(matrix, x, rows, columns);
  for (std::size_t period = 4; period <= slots; period *= 4) {
    Values expected(slots);
    for (std::size_t k = 0; k < slots; ++k) expected[k] = k % period < rows ? y[k % period] : 0;
    for (const bool fewest_keys : {false, true}) {
      for (const bool own_keys : {false, true}) {
        SCOPED_TRACE(std::to_string(period) + (fewest_keys ? ", few keys" : "") + (own_keys ? ", own" : ""));
        const Wrapping wrapping{.result_period = period};
        const LinearTransform plan(
            parameters(), diagonals_of(dense(matrix, rows, columns), slots, wrapping), slots,
            {.level = 2, .fewest_keys = fewest_keys, .own_keys = own_keys, .wrapping = wrapping});
        EXPECT_EQ(plan.result_level(), 1U);
        EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(x), expected), 1e-12);
        const Session session(parameters(), plan, false);
        rlwe::Ciphertext input = session.client.encrypt(x);
        input.meta.largest = 2;
        const rlwe::Ciphertext result = session.prepared(session.evaluator, input);
        EXPECT_EQ(result.meta.level, 1U);
        EXPECT_EQ(result.meta.slots, slots);
        EXPECT_TRUE(session.client.context->scales().close(result.meta.scale, plan.ends().result_scale));
        const Values found = session.client.decrypt(result);
        EXPECT_LT(ckks::largest_difference(found, expected), ckks::tolerance);
        double row = 0, largest = 0, squares = 0;
        for (std::size_t i = 0; i < rows; ++i, largest = std::max(largest, row), row = 0) {
          for (std::size_t j = 0; j < columns; ++j) row += std::abs(matrix[i * columns + j]);
        }
        EXPECT_DOUBLE_EQ(result.meta.largest, 2 * largest);
        for (std::size_t k = 0; k < slots; ++k) squares += std::norm(found[k] - expected[k]) / slots;
        EXPECT_LT(std::abs(std::log2(std::sqrt(squares) / plan.expected_error().mean)), 1.5);
        EXPECT_GE(plan.expected_error().worst, plan.expected_error().mean);
        EXPECT_EQ(session.evaluator.keys().memory_bytes() - session.client.keys.memory_bytes(),
                  plan.cost().key_bytes);
        if (own_keys && period == 4) {  // the sum has rotations of its own
          const rlwe::Parameters own = parameters();
          const auto needs = plan.needed_keys();
          EXPECT_TRUE(std::any_of(needs.begin(), needs.end(), [&](const KeyNeed& need) {
            return need.gadget.base == own.literal().levels[plan.result_level()];
          }));
        }
        for (const std::size_t rotation : plan.rotations()) {
          const auto element = session.client.context->galois_element(static_cast<std::int64_t>(rotation));
          EXPECT_TRUE(session.evaluator.keys().switching.contains(rlwe::KeyRole::galois(element)));
        }
      }
    }
  }
}

TEST(WrappedDiagonals, AreTheProductOfTallMatrices) {
  const std::size_t rows = 50, columns = 3;
  const Values matrix = ckks::random_values(rows * columns, 3);
  for (std::size_t period = 4; period <= slots; period *= 4) {
    const Wrapping wrapping{.vector_period = period};
    const LinearTransform plan(parameters(), diagonals_of(dense(matrix, rows, columns), slots, wrapping),
                               slots, {.wrapping = wrapping});
    EXPECT_EQ(plan.vector_slots(), period);
    const Values x = ckks::random_values(period, 4);
    Values expected = product(matrix, x, rows, columns);
    expected.resize(slots);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(x), expected), 1e-12);
    const Session session(parameters(), plan, false);
    const rlwe::Ciphertext input = session.client.encrypt(x);
    const rlwe::Ciphertext result = session.prepared(session.evaluator, input);
    EXPECT_EQ(result.meta.slots, slots);
    EXPECT_EQ(input.meta.slots, period);
    EXPECT_LT(session.client.error(result, expected), ckks::tolerance);
    if (period == slots) continue;
    EXPECT_THROW(static_cast<void>(plan.evaluate_clear(Values(slots))), ParameterError);
    EXPECT_THROW(
        static_cast<void>(session.prepared(session.evaluator, session.client.encrypt(Values(slots, 1)))),
        MismatchError);
  }
}

// One number in all slots, whose plaintext is that of a single slot.
TEST(WrappedDiagonals, GiveAllSlotsToTallMatricesOfOneNumber) {
  const Wrapping wrapping{.vector_period = 1};
  const LinearTransform plan(parameters(), MatrixDiagonals{{0, std::vector<double>(slots, 0.5)}}, slots,
                             {.wrapping = wrapping});
  const Session session(parameters(), plan, false);
  const rlwe::Ciphertext result = session.prepared(session.evaluator, session.client.encrypt(Values{0.25}));
  EXPECT_EQ(result.meta.slots, slots);
  EXPECT_LT(session.client.error(result, Values(slots, 0.125)), ckks::tolerance);
}

TEST(WrappedDiagonals, AreChosenWhereTheyCostLess) {
  const rlwe::Parameters own = parameters();
  std::vector<std::size_t> all(slots), few{0, 3}, apart{0, 4, 8, 12, 16, 20, 24, 28};
  for (std::size_t i = 0; i < slots; ++i) all[i] = i;
  for (const bool fewest_keys : {false, true}) {
    for (const auto& numbers : {all, few, apart}) {
      for (const std::size_t rows : {1, 3, 16, 33}) {
        const LinearTransformOptions options{.fewest_keys = fewest_keys};
        const std::size_t period = std::bit_ceil(rows);
        const auto work = [&](std::size_t of) {
          MatrixDiagonals diagonals;
          for (const std::size_t number : numbers)
            diagonals.add(number % of, std::vector<double>(slots, 0.5));
          LinearTransformOptions with = options;
          with.wrapping.result_period = of;
          return work_of(LinearTransform(own, diagonals, slots, with));
        };
        const std::size_t found = cheapest_result_period(own, numbers, rows, slots, options);
        EXPECT_EQ(found, work(period) < work(slots) ? period : 0) << rows << " " << numbers.size();
      }
    }
  }
  EXPECT_EQ(cheapest_result_period(own, all, 4, slots, {}), 4U);
  EXPECT_EQ(cheapest_result_period(own, few, 4, slots, {}), 0U);
}

// The gadget of the least work, of all over the level's primes and the usual one.
TEST(OwnKeys, HaveTheSpecialPrimesThatCostLeast) {
  const rlwe::Parameters own = ckks::small_parameters(9, 1);
  ASSERT_GT(own.literal().special_primes.size(), 5U);
  for (const std::size_t count : {2, 64}) {
    MatrixDiagonals diagonals;
    for (std::size_t number = 0; number < count; ++number) {
      diagonals.add(number, std::vector<double>(slots, 0.5));
    }
    for (const bool fewest_keys : {false, true}) {
      for (const std::size_t level : {1, 6, 9}) {
        const LinearTransform chosen(own, diagonals, slots,
                                     {.level = level, .fewest_keys = fewest_keys, .own_keys = true});
        double least =
            work_of(LinearTransform(own, diagonals, slots, {.level = level, .fewest_keys = fewest_keys}));
        for (std::size_t special = 2; special <= most_special_primes; ++special) {
          least = std::min(least, work_of(LinearTransform(own, diagonals, slots,
                                                          {.level = level,
                                                           .gadget = rotation_gadget(own, level, special),
                                                           .fewest_keys = fewest_keys})));
        }
        // The choice is by a model of the work, which leaves some out.
        EXPECT_LE(work_of(chosen), 1.1 * least) << count << " at level " << level;
        const KeyNeed& key = chosen.needed_keys().front();
        EXPECT_GE(key.gadget.special.size(), 2U);
        if (level == 1) {
          EXPECT_EQ(key.gadget.base, own.literal().levels[level]);
        }
      }
    }
  }
}

TEST(OwnKeys, OptionsThatExcludeEachOtherAreRefused) {
  const rlwe::Parameters own = parameters();
  const auto make = [&](const LinearTransformOptions& options) {
    return LinearTransform(own, MatrixDiagonals{{1, std::vector<double>{1}}}, slots, options);
  };
  const rlwe::GadgetPrimes gadget = rotation_gadget(own, 2, 2);
  EXPECT_NO_THROW(make({.level = 2, .gadget = gadget}));
  EXPECT_NO_THROW(make({.level = 2, .own_keys = true}));
  EXPECT_THROW(make({.level = 2, .gadget = gadget, .own_keys = true}), ParameterError);
  EXPECT_NO_THROW(make({.wrapping = {.result_period = 4}}));
  EXPECT_THROW(make({.level = 2, .gadget = gadget, .wrapping = {.result_period = 4}}), ParameterError);
  EXPECT_THROW(make({.rescaled = false, .wrapping = {.result_period = 4}}), ParameterError);
  EXPECT_THROW(make({.rescaled = false, .wrapping = {.vector_period = 4}}), ParameterError);
  for (const std::size_t period : {std::size_t{3}, std::size_t{48}, 2 * slots}) {
    EXPECT_THROW(make({.wrapping = {.result_period = period}}), ParameterError);
    EXPECT_THROW(make({.wrapping = {.vector_period = period}}), ParameterError);
  }
  const Values matrix(12, 1);
  for (const Wrapping& wrong :
       {Wrapping{.result_period = 2}, Wrapping{.result_period = 2 * slots}, Wrapping{.result_period = 6},
        Wrapping{.vector_period = 2}, Wrapping{.vector_period = 6}, Wrapping{4, 4}}) {
    EXPECT_THROW(static_cast<void>(diagonals_of(dense(matrix, 3, 4), slots, wrong)), ParameterError);
  }
}

}  // namespace
}  // namespace hemera::circuits::wrapped_transform_tests
