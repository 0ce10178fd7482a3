// Matrices of integers times batches of BFV and BGV, beside sums of Python-like integers modulo t.
#include "hemera/rlwe/integer_matrix.hpp"

#include <gtest/gtest.h>

#include "schemes/integer_operations.hpp"

namespace hemera::testing {
namespace {

template <typename S>
class IntegerMatrices : public ::testing::Test {};
using Schemes = ::testing::Types<Bfv, Bgv>;
TYPED_TEST_SUITE(IntegerMatrices, Schemes);

std::vector<std::int16_t> random_integers(std::size_t count, int least, int largest, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<int> uniform(least, largest);
  std::vector<std::int16_t> values(count);
  for (auto& value : values) value = static_cast<std::int16_t>(uniform(generator));
  return values;
}

// The products of rows of `width` values each.
template <typename S>
Values expected(const Session<S>& session, const std::vector<std::int16_t>& w, const Values& x,
                std::size_t rows, std::size_t columns) {
  const std::size_t width = x.size() / columns;
  Values result(rows * width, 0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < width; ++i) {
        std::uint64_t& sum = result[r * width + i];
        sum = session.t.add(
            sum, session.t.multiply(x[j * width + i], session.t.reduce_signed(w[r * columns + j])));
      }
    }
  }
  return result;
}

TYPED_TEST(IntegerMatrices, AreExactModuloT) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    constexpr std::size_t rows = 3, columns = 5;
    for (const auto& [least, largest] : {std::pair{-128, 127}, std::pair{127, 127}, std::pair{-128, -128}}) {
      const auto w = random_integers(rows * columns, least, largest, 61);
      const rlwe::IntegerMatrix matrix(session.context, rows, columns, w);
      EXPECT_EQ(matrix.entry_bytes(), 1);
      const Values x = session.uniform(columns * session.places());
      const rlwe::Ciphertext in = session.encrypt(x, {columns}, session.natural_encoding());
      const rlwe::Ciphertext y = rlwe::multiply_matrix(matrix, in);
      EXPECT_EQ(y.meta.batch, rlwe::BatchShape{rows});
      EXPECT_GT(y.meta.noise_log2, in.meta.noise_log2);
      session.expect(y, expected(session, w, x, rows, columns));
      // Two columns of elements, and a second matrix on the result.
      const Values more = session.uniform(columns * 2 * session.places());
      const rlwe::Ciphertext both =
          rlwe::multiply_matrix(matrix, session.encrypt(more, {columns, 2}, session.natural_encoding()));
      EXPECT_EQ(both.meta.batch, (rlwe::BatchShape{rows, 2}));
      session.expect(both, expected(session, w, more, rows, columns));
    }
  }
}

TYPED_TEST(IntegerMatrices, TakeTwoBytesWhereOneDoesNotDo) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(plain_prime(20, 1024), 4));
  for (const int extreme : {-32768, 32767, 128, -129}) {
    auto w = random_integers(6, -100, 100, 62);
    w[4] = static_cast<std::int16_t>(extreme);
    const rlwe::IntegerMatrix matrix(session.context, 2, 3, w);
    EXPECT_EQ(matrix.entry_bytes(), 2);
    const Values x = session.uniform(3 * session.places());
    session.expect(rlwe::multiply_matrix(matrix, session.encrypt(x, {3}, session.natural_encoding())),
                   expected(session, w, x, 2, 3));
  }
}

TYPED_TEST(IntegerMatrices, BoundNoiseByTheLargestRow) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(plain_prime(20, 1024), 4));
  const std::vector<std::int16_t> w = {1, -2, 3, 0, 100, -50};
  const rlwe::IntegerMatrix matrix(session.context, 2, 3, w);
  EXPECT_EQ(matrix.largest_norm(), 150);
  const rlwe::Ciphertext x =
      session.encrypt(session.uniform(3 * session.places()), {3}, session.natural_encoding());
  EXPECT_NEAR(rlwe::multiply_matrix(matrix, x).meta.noise_log2 - x.meta.noise_log2, std::log2(150), 1e-12);
  const rlwe::IntegerMatrix zeros(session.context, 2, 3, std::vector<std::int16_t>(6, 0));
  session.expect(rlwe::multiply_matrix(zeros, x), Values(2 * session.places(), 0));
}

TYPED_TEST(IntegerMatrices, RefuseWhatDoesNotFit) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(plain_prime(20, 1024), 4)), other(test_chain<S>(plain_prime(20, 1024), 4));
  const std::vector<std::int16_t> w(6, 1);
  EXPECT_THROW(rlwe::IntegerMatrix(session.context, 0, 6, {}), ParameterError);
  EXPECT_THROW(rlwe::IntegerMatrix(session.context, 2, 2, w), ParameterError);
  EXPECT_THROW(rlwe::IntegerMatrix(session.context, 2, 0, {}), ParameterError);
  const rlwe::IntegerMatrix matrix(session.context, 2, 3, w);
  const Values x = session.uniform(2 * session.places());
  EXPECT_THROW(
      static_cast<void>(rlwe::multiply_matrix(matrix, session.encrypt(x, {2}, session.natural_encoding()))),
      MismatchError);
  EXPECT_THROW(static_cast<void>(rlwe::multiply_matrix(matrix, session.encrypt(session.uniform()))),
               MismatchError);
  EXPECT_THROW(static_cast<void>(rlwe::multiply_matrix(matrix, rlwe::Ciphertext{})), MismatchError);
  const Values three = other.uniform(3 * other.places());
  EXPECT_THROW(
      static_cast<void>(rlwe::multiply_matrix(matrix, other.encrypt(three, {3}, other.natural_encoding()))),
      MismatchError);
}

}  // namespace
}  // namespace hemera::testing
