// Diagonals stored as real numbers, or as one number: plans and bits are those of the same complex numbers.
#include "hemera/circuits/linear/diagonals.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::diagonals_tests {
namespace {

using ckks::Complex;
using ckks::Values;

constexpr std::size_t slots = 32;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

// Real parts of random values.
std::vector<double> reals(std::uint64_t seed) {
  std::vector<double> result;
  for (const Complex& value : ckks::random_values(slots, seed)) result.push_back(value.real());
  return result;
}

// The same matrix with short storage, and with an entry a slot, all complex.
struct Twins {
  MatrixDiagonals stored;
  Diagonals complex;

  void add(std::size_t number, const std::vector<double>& entries) {
    EXPECT_TRUE(stored.add(number, entries));
    complex[number] =
        entries.size() == 1 ? Values(slots, entries.front()) : Values(entries.begin(), entries.end());
  }
};

TEST(MatrixDiagonals, PlansAndBitsAreThoseOfComplexNumbers) {
  Twins twins;
  std::vector<double> first = reals(1);
  first[0] = 0;  // the largest row is another one
  twins.add(0, first);
  twins.add(3, {0.75});
  twins.add(8, reals(2));
  twins.add(31, {-1});
  for (const bool fewest_keys : {false, true}) {
    const LinearTransformOptions options{.fewest_keys = fewest_keys};
    const LinearTransform plan(parameters(), twins.stored, slots, options),
        expected(parameters(), twins.complex, slots, options);
    EXPECT_EQ(plan.rotations(), expected.rotations());
    EXPECT_EQ(plan.cost().plaintext_bytes, expected.cost().plaintext_bytes);
    EXPECT_EQ(plan.cost().entries, expected.cost().entries);
    EXPECT_EQ(plan.expected_error().mean, expected.expected_error().mean);
    EXPECT_EQ(plan.expected_error().worst, expected.expected_error().worst);
    const Values x = ckks::random_values(slots, 3);
    EXPECT_EQ(plan.evaluate_clear(x), expected.evaluate_clear(x));

    using Session = MatrixSession<LinearTransform, PreparedLinearTransform>;
    const Session session(parameters(), plan, false);
    const PreparedLinearTransform twin(session.client.context, expected);
    rlwe::Ciphertext input = session.client.encrypt(x);
    input.meta.largest = 1;
    const rlwe::Ciphertext found = session.prepared(session.evaluator, input),
                           same = twin(session.evaluator, input);
    EXPECT_EQ(session.client.decrypt(found), session.client.decrypt(same));
    EXPECT_EQ(found.meta.largest, same.meta.largest);
    EXPECT_FALSE(found.meta.is_complex && !input.meta.is_complex);
  }
}

// Each thread encodes diagonals of its own; where operations are counted, as on a device, rows of one length
// are a batch. More diagonals than one batch, of three lengths.
TEST(MatrixDiagonals, AreEncodedByThreadsAndInBatches) {
  constexpr std::size_t wide = 128;
  MatrixDiagonals diagonals;
  for (std::size_t number = 0; number < 100; ++number) {
    std::vector<double> entries = number % 3 == 0 ? std::vector<double>{0.5} : std::vector<double>(wide);
    for (std::size_t k = 0; k < entries.size() && entries.size() > 1; ++k) {
      const std::size_t length = number % 3 == 1 ? wide / 4 : wide;
      entries[k] = std::sin(static_cast<double>(number + 3 * (k % length)));
    }
    diagonals.add(number, std::move(entries));
  }
  const LinearTransform plan(parameters(), diagonals, wide);
  const Values x = ckks::random_values(wide, 5);
  const Values expected = plan.evaluate_clear(x);
  const auto ledger = std::make_shared<poly::Ledger>();
  for (const rlwe::ContextOptions& options :
       {rlwe::ContextOptions{.threads = 1}, rlwe::ContextOptions{.threads = 3},
        rlwe::ContextOptions{.threads = 1, .ledger = ledger}}) {
    const auto context = rlwe::Context::make(parameters(), {}, options);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const ckks::Encoder encoder(context);
    const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
    ledger->clear();
    const PreparedLinearTransform prepared(context, plan);
    if (options.ledger) {
      std::size_t embeddings = 0;
      for (const auto& [entry, calls] : ledger->entries()) {
        if (entry.operation == poly::Operation::embed) embeddings += calls;
      }
      EXPECT_EQ(embeddings, 6U);  // 34 of one number, 33 of a quarter, 33 whole; 32 at most at once
    }
    const rlwe::Ciphertext y = prepared(evaluator, ckks::encrypt(encoder.encode(x, {}), secret));
    EXPECT_LT(ckks::largest_difference(encoder.decode(ckks::decrypt(y, secret)), expected),
              100 * ckks::tolerance);
  }
}

TEST(MatrixDiagonals, RealMatricesStayReal) {
  const std::vector<double> dense = reals(4);  // 4 x 8
  const Values as_complex(dense.begin(), dense.end());
  const MatrixDiagonals real = diagonals_of(DenseMatrix<double>{4, 8, dense}, slots);
  const Diagonals complex = diagonals_of(as_complex, 4, 8, slots);
  ASSERT_EQ(real.size(), complex.size());
  for (const auto& [number, diagonal] : complex) {
    EXPECT_TRUE(real.at(number).is_real());
    ASSERT_EQ(real.at(number).size(), slots);
    for (std::size_t k = 0; k < slots; ++k) EXPECT_EQ(real.at(number)[k], diagonal[k]);
  }
  EXPECT_TRUE(real.times(0.5).at(0).is_real());
  EXPECT_EQ(real.times(0.5).at(0)[1], 0.5 * complex.at(0)[1]);
}

TEST(MatrixDiagonals, EntriesOfOnePlaceAddUp) {
  const std::vector<std::int64_t> row{0, 3, 0, 2, 3}, column{1, 0, 1, 2, 0};
  const std::vector<double> value{1, 2, 4, 8, -2};
  const MatrixDiagonals found = diagonals_of(Entries<double>{4, 3, row, column, value}, slots);
  EXPECT_EQ(found.at(1)[0], 5.0);
  EXPECT_EQ(found.at(0)[2], 8.0);
  EXPECT_TRUE(found.at(slots - 3).is_zero());
  const Values complex(value.begin(), value.end());
  const MatrixDiagonals other = diagonals_of(Entries<Complex>{4, 3, row, column, complex}, slots);
  EXPECT_FALSE(other.at(1).is_real());
  EXPECT_EQ(other.at(1)[0], 5.0);
}

TEST(MatrixDiagonals, RefusesWhatIsNotInTheMatrix) {
  const std::vector<std::int64_t> row{0}, column{0}, none;
  const std::vector<double> value{1};
  const auto make = [&](std::size_t rows, std::size_t columns, const auto& at, const auto& across) {
    return diagonals_of(Entries<double>{rows, columns, at, across, value}, slots);
  };
  EXPECT_NO_THROW(make(slots, slots, row, column));
  EXPECT_THROW(make(slots + 1, 1, row, column), ParameterError);
  EXPECT_THROW(make(1, slots + 1, row, column), ParameterError);
  EXPECT_THROW(make(0, 1, row, column), ParameterError);
  EXPECT_THROW(make(1, 0, row, column), ParameterError);
  EXPECT_THROW(make(1, 1, none, column), ParameterError);
  EXPECT_THROW(make(1, 1, row, none), ParameterError);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{2}, INT64_MIN, INT64_MAX}) {
    EXPECT_THROW(make(2, 3, std::vector{wrong}, column), ParameterError);
    EXPECT_THROW(make(3, 2, row, std::vector{wrong}), ParameterError);
  }
  EXPECT_THROW(LinearTransform(parameters(), MatrixDiagonals{{0, std::vector<double>{HUGE_VAL}}}, slots),
               ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), MatrixDiagonals{{0, std::vector<double>{0}}}, slots),
               ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), MatrixDiagonals{{0, std::vector<double>(slots / 2, 1)}}, slots),
               ParameterError);
}

}  // namespace
}  // namespace hemera::circuits::diagonals_tests
