#include "hemera/multiply/kronecker.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiply {
namespace {

using Words = std::vector<std::uint64_t>;
using Signed = std::vector<std::int64_t>;

class KroneckerTest : public testing::Test {
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

TEST_F(KroneckerTest, NegacyclicResiduesAreThoseOfTheUnpackedCoefficients) {
  for (const int e : {1, 40, 64, 100, 128, 139, 192}) {
    const std::size_t degree = 3000;
    Words integer(kronecker_words(2 * degree, e));
    for (auto& word : integer) word = random_();
    if (2 * degree * static_cast<std::size_t>(e) % 64 != 0) integer.back() = 0;
    const arith::Modulus q((std::uint64_t{1} << 61) - 1);
    const Words all = unpacked(integer, 2 * degree, e);
    const auto width = static_cast<std::size_t>((e + 63) / 64);
    Words residues(degree);
    unpack_negacyclic(residues, integer, e, q, pool_);
    const auto residue = [&](std::size_t j) {
      std::uint64_t value = 0;
      for (std::size_t i = width; i-- > 0;) {
        value = q.reduce((static_cast<arith::uint128>(value) << 64) | all[width * j + i]);
      }
      return value;
    };
    for (std::size_t n = 0; n < degree; ++n) {
      ASSERT_EQ(residues[n], q.subtract(residue(n), residue(n + degree))) << e << " " << n;
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
}

}  // namespace
}  // namespace hemera::multiply
