#include "hemera/multiply/kronecker.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiply {
namespace {

using Words = std::vector<std::uint64_t>;
using Signed = std::vector<std::int64_t>;

class KroneckerTest : public ::testing::Test {
 protected:
  Words packed(const Words& coefficients, int e) {
    Words integer(kronecker_words(coefficients.size(), e), 0xfeed);
    pack(integer, coefficients, e, pool_);
    return integer;
  }
  Words unpacked(const Words& integer, std::size_t count, int e) {
    Words coefficients(count * static_cast<std::size_t>((e + 63) / 64), 0xfeed);
    unpack(coefficients, integer, count, e, pool_);
    return coefficients;
  }

  runtime::ThreadPool pool_{2};
  std::mt19937_64 random_{11};
};

TEST_F(KroneckerTest, ExponentIsTheSmallestThatHoldsTheSums) {
  using enum Signedness;
  EXPECT_EQ(kronecker_exponent(1, 1, 1, unsigned_coefficients), 1);
  EXPECT_EQ(kronecker_exponent(1, 1, 1, signed_coefficients), 2);
  EXPECT_EQ(kronecker_exponent(3, 3, 7, unsigned_coefficients), 6);  // 63
  EXPECT_EQ(kronecker_exponent(4, 4, 4, unsigned_coefficients), 7);  // 64
  EXPECT_EQ(kronecker_exponent(8, 16, 1, signed_coefficients), 9);   // 128 needs [-256, 256)
  EXPECT_EQ(kronecker_exponent(0, 5, 9, unsigned_coefficients), 1);
  const std::uint64_t largest = (std::uint64_t{1} << 61) - 1;
  EXPECT_EQ(kronecker_exponent(largest, largest, std::size_t{1} << 17, unsigned_coefficients), 139);
  EXPECT_THROW(
      (void)kronecker_exponent(~std::uint64_t{0}, ~std::uint64_t{0}, ~std::size_t{0}, signed_coefficients),
      ParameterError);
}

TEST_F(KroneckerTest, PackingIsTheValueAtThePowerOfTwo) {
  for (const int e : {1, 7, 61, 64, 65, 128, 139, 192}) {
    const Words coefficients = {1, 0, 1, 1, 0, 1, 1};
    arith::BigInteger expected = 0;
    for (std::size_t j = 0; j < coefficients.size(); ++j) {
      expected += arith::BigInteger(coefficients[j]) << (j * static_cast<std::size_t>(e));
    }
    arith::BigInteger value = 0;
    const Words integer = packed(coefficients, e);
    for (std::size_t i = integer.size(); i-- > 0;) value = (value << 64) + integer[i];
    EXPECT_EQ(value, expected) << e;
  }
}

TEST_F(KroneckerTest, UnsignedComesBackForEveryExponentAndCount) {
  for (int e = 1; e <= max_kronecker_exponent; ++e) {
    const std::size_t count = 1 + random_() % 5000;
    Words coefficients(count);
    const std::uint64_t mask = e < 64 ? (std::uint64_t{1} << e) - 1 : ~std::uint64_t{0};
    for (auto& c : coefficients) c = random_() % 3 == 0 ? mask : random_() & mask;
    const auto width = static_cast<std::size_t>((e + 63) / 64);
    const Words back = unpacked(packed(coefficients, e), count, e);
    for (std::size_t j = 0; j < count; ++j) {
      ASSERT_EQ(back[width * j], coefficients[j]) << e;
      for (std::size_t i = 1; i < width; ++i) ASSERT_EQ(back[width * j + i], 0U);
    }
  }
}

// Adversarial signs: long runs of zeros, of -1, of the extremes of each exponent.
TEST_F(KroneckerTest, SignedComesBackForEveryExponentAndCount) {
  for (int e = 1; e <= max_kronecker_exponent; ++e) {
    for (const int kind : {0, 1, 2, 3}) {
      const std::size_t count = 1 + random_() % 7000;
      const std::int64_t highest = e < 64 ? (std::int64_t{1} << (e - 1)) - 1 : INT64_MAX;
      const std::int64_t lowest = -highest - 1;
      const std::int64_t choices[] = {0, highest, lowest, e == 1 ? 0 : 1, -1};
      Signed coefficients(count);
      for (auto& c : coefficients) {
        if (kind == 0)
          c = e < 64 ? static_cast<std::int64_t>(random_()) >> (64 - e)
                     : static_cast<std::int64_t>(random_());
        if (kind == 1) c = choices[random_() % 5];
        if (kind == 2) c = random_() % 3000 == 0 ? choices[random_() % 5] : 0;
        if (kind == 3) c = random_() % 3000 == 0 ? -1 : highest;
      }
      Words magnitude(kronecker_words(count, e));
      const bool negative = pack_signed(magnitude, coefficients, e, pool_);
      const auto width = static_cast<std::size_t>((e + 63) / 64);
      Words back(width * count);
      unpack_signed(back, magnitude, negative, count, e, pool_);
      for (std::size_t j = 0; j < count; ++j) {
        ASSERT_EQ(static_cast<std::int64_t>(back[width * j]), coefficients[j])
            << e << " " << kind << " " << j;
        const std::uint64_t sign = coefficients[j] < 0 ? ~std::uint64_t{0} : 0;
        for (std::size_t i = 1; i < width; ++i) ASSERT_EQ(back[width * j + i], sign);
      }
    }
  }
}

TEST_F(KroneckerTest, SignedPackingIsTheValueAtThePowerOfTwo) {
  const Signed coefficients = {-3, 2, 0, -1, 5, -6};
  for (const int e : {5, 64, 70, 150}) {
    arith::BigInteger expected = 0;
    for (std::size_t j = coefficients.size(); j-- > 0;) expected = (expected << e) + coefficients[j];
    Words magnitude(kronecker_words(coefficients.size(), e));
    const bool negative = pack_signed(magnitude, coefficients, e, pool_);
    arith::BigInteger value = 0;
    for (std::size_t i = magnitude.size(); i-- > 0;) value = (value << 64) + magnitude[i];
    EXPECT_EQ(negative ? arith::BigInteger(-value) : value, expected) << e;
  }
}

// Coefficients of any sign from their value modulo 2^(N e) + 1: the extremes of e, long runs of those that
// pass a carry on, and -1, which is 2^(N e).
TEST_F(KroneckerTest, NegacyclicResiduesComeBackFromTheIntegerModulo) {
  const arith::Modulus q((std::uint64_t{1} << 61) - 1);
  for (const int e : {2, 40, 62, 64, 100, 128, 139, 192}) {
    for (int kind = 0; kind < 9; ++kind) {
      const std::size_t degree = kind % 2 == 0 ? 64 : 4096;
      const std::int64_t highest = e < 64 ? (std::int64_t{1} << (e - 1)) - 1 : INT64_MAX;
      Signed coefficients(degree);
      for (auto& c : coefficients) {
        if (kind < 2) c = static_cast<std::int64_t>(random_()) % (highest + (e < 64 ? 1 : 0));
        if (kind == 2) c = highest;
        if (kind == 3) c = -highest;
        if (kind == 4) c = random_() % 50 == 0 ? highest : 0;
        if (kind == 5) c = random_() % 3000 == 0 ? -1 : highest;
      }
      if (kind == 6 || kind == 7) coefficients[0] = -1;
      if (kind == 7) coefficients[degree - 1] = -highest;
      Words integer(kronecker_words(degree, e) + 1);
      const std::span<std::uint64_t> low = std::span(integer).first(integer.size() - 1);
      if (pack_signed(low, coefficients, e, pool_)) {
        // 2^M + 1 less the absolute value: its complement plus 2, from one word to the next.
        std::uint64_t carry = 2;
        for (auto& word : low) {
          word = ~word + carry;
          carry = word < carry ? 1 : 0;
        }
        integer.back() = carry;
      }
      Words residues(degree, 0xfeed);
      unpack_negacyclic(residues, integer, e, q, pool_);
      for (std::size_t n = 0; n < degree; ++n) {
        ASSERT_EQ(residues[n], q.reduce_signed(coefficients[n])) << e << " " << kind << " " << n;
      }
    }
  }
}

// Coefficients of more than a word, up to the ends of (-2^(e-1), 2^(e-1)).
TEST_F(KroneckerTest, NegacyclicResiduesOfLongCoefficients) {
  const arith::Modulus q((std::uint64_t{1} << 50) - 27);
  for (const int e : {65, 114, 128, 140, 192}) {
    const std::size_t degree = 128;
    const arith::BigInteger bound = arith::BigInteger(1) << (e - 1);
    const arith::BigInteger modulus = (arith::BigInteger(1) << (degree * static_cast<std::size_t>(e))) + 1;
    std::vector<arith::BigInteger> coefficients(degree);
    arith::BigInteger value = 0;
    for (std::size_t n = degree; n-- > 0;) {
      arith::BigInteger& c = coefficients[n];
      for (int i = 0; i < 4; ++i) c = (c << 64) + random_();
      c = c % (2 * bound - 1) - bound + 1;
      if (n % 5 == 0) c = bound - 1;
      if (n % 7 == 0) c = 1 - bound;
      value = (value << e) + c;
    }
    if (value < 0) value += modulus;
    Words integer;
    boost::multiprecision::export_bits(value, std::back_inserter(integer), 64, false);
    integer.resize(kronecker_words(degree, e) + 1);
    Words residues(degree);
    unpack_negacyclic(residues, integer, e, q, pool_);
    for (std::size_t n = 0; n < degree; ++n) {
      const arith::BigInteger expected = (coefficients[n] % q.value() + q.value()) % q.value();
      ASSERT_EQ(arith::BigInteger(residues[n]), expected) << e << " " << n;
    }
  }
}

TEST_F(KroneckerTest, BadInputIsAnErrorWithTheWayOut) {
  Words integer(10), coefficients(5, 9);
  EXPECT_THROW((void)kronecker_words(5, 0), ParameterError);
  EXPECT_THROW((void)kronecker_words(5, -3), ParameterError);
  EXPECT_THROW((void)kronecker_words(5, 193), ParameterError);
  EXPECT_THROW(pack(integer, coefficients, -1, pool_), ParameterError);
  EXPECT_THROW(pack(integer, coefficients, 64, pool_), MismatchError);
  EXPECT_THROW((void)packed(coefficients, 3), ParameterError);  // 9 needs four bits
  Words one(1);
  EXPECT_THROW((void)pack_signed(one, Signed{4}, 3, pool_), ParameterError);
  EXPECT_NO_THROW((void)pack_signed(one, Signed{-4}, 3, pool_));
  EXPECT_THROW((void)unpacked({8}, 1, 3), ParameterError);
  EXPECT_THROW(unpack(coefficients, integer, 4, 64, pool_), MismatchError);
  const arith::Modulus q(97);
  Words residues(64);
  EXPECT_THROW(unpack_negacyclic(residues, integer, 10, q, pool_), MismatchError);
  EXPECT_THROW(unpack_negacyclic(coefficients, integer, 10, q, pool_), MismatchError);
  EXPECT_THROW(unpack_negacyclic(residues, integer, -1, q, pool_), ParameterError);
}

}  // namespace
}  // namespace hemera::multiply
