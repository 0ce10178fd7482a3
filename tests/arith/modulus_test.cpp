#include "hemera/arith/modulus.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "hemera/arith/big_integer.hpp"

namespace hemera::arith {
namespace {

const std::vector<std::uint64_t>& moduli() {
  static const std::vector<std::uint64_t> list = {
      2,
      3,
      4,
      5,
      7,
      8,
      65535,
      65536,
      65537,
      786433,  // these two need every carry of Barrett's reduction
      998244353,
      (1ULL << 30) - 35,
      (1ULL << 32) - 5,
      1ULL << 32,
      (1ULL << 49) + 1,
      (1ULL << 50) - 27,
      1ULL << 60,
      (1ULL << 60) - 93,
      (1ULL << 61) - 1,
  };
  return list;
}

std::vector<std::uint64_t> words(std::uint64_t q, std::mt19937_64& generator) {
  std::vector<std::uint64_t> values = {0,     1,         q - 1,      q,     q + 1,    2 * q - 1,
                                       ~0ULL, ~0ULL - 1, 1ULL << 63, q / 2, q / 2 + 1};
  for (int i = 0; i < 500; ++i) values.push_back(generator() >> (generator() % 64));
  return values;
}

TEST(Modulus, ReducesWordsAndDoubleWords) {
  std::mt19937_64 generator(1);
  for (const std::uint64_t value : moduli()) {
    const Modulus q(value);
    const std::vector<std::uint64_t> samples = words(value, generator);
    for (const std::uint64_t a : samples) {
      ASSERT_EQ(q.reduce(a), a % value) << value;
      const std::uint64_t b = samples[generator() % samples.size()];
      const uint128 wide = (static_cast<uint128>(a) << 64) | b;
      ASSERT_EQ(q.reduce(wide), static_cast<std::uint64_t>(wide % value)) << value << " " << a << " " << b;
      // The quotient's estimate is smallest at multiples: every carry counts there.
      ASSERT_EQ(q.reduce(static_cast<uint128>(wide - wide % value)), 0U) << value << " " << a << " " << b;
      ASSERT_EQ(q.multiply(a, b), static_cast<std::uint64_t>(static_cast<uint128>(a) * b % value));
      const auto sign = static_cast<std::int64_t>(a);
      const int128 remainder = static_cast<int128>(sign) % static_cast<int128>(value);
      ASSERT_EQ(
          q.reduce_signed(sign),
          static_cast<std::uint64_t>(remainder < 0 ? remainder + static_cast<int128>(value) : remainder));
    }
    ASSERT_EQ(q.reduce(~static_cast<uint128>(0)),
              static_cast<std::uint64_t>(~static_cast<uint128>(0) % value));
  }
}

// Up to the last sum that is taken; around multiples the quotient's estimate is smallest and largest.
TEST(Modulus, ReducesSumsOfProducts) {
  std::mt19937_64 generator(4);
  std::vector<std::uint64_t> tested = moduli();
  for (const int bits : {2, 20, 56, 57, 58, 61}) {
    const std::uint64_t least = 1ULL << (bits - 1);
    tested.insert(tested.end(), {least, least + 1, 2 * least - 1});
  }
  for (const std::uint64_t value : tested) {
    const Modulus q(value);
    const uint128 last =
        q.bits() == 61 ? ~static_cast<uint128>(0) : (static_cast<uint128>(64) << (2 * q.bits())) - 1;
    std::vector<uint128> sums = {0, 1, value, last, static_cast<uint128>(value - 1) * (value - 1) * 63};
    for (int i = 0; i < 2000; ++i) {
      const uint128 word = static_cast<uint128>(generator()) << 64 | generator();
      const uint128 sum = (i % 2 == 0 ? word : word >> (generator() % 128)) & last;
      sums.insert(sums.end(), {sum, sum - sum % value});
      if (sum >= value) sums.push_back(sum - sum % value - 1);
    }
    for (const uint128 sum : sums) {
      ASSERT_EQ(q.reduce_sum(sum), static_cast<std::uint64_t>(sum % value))
          << value << " " << static_cast<std::uint64_t>(sum >> 64) << " " << static_cast<std::uint64_t>(sum);
    }
  }
}

// Kernels take the constant, too.
TEST(Modulus, HasBarrettsConstant) {
  for (const std::uint64_t value : moduli()) {
    const Modulus q(value);
    const BigInteger ratio = (BigInteger(1) << 128) / value;
    EXPECT_EQ((BigInteger(q.ratio_high()) << 64) + q.ratio_low(), ratio) << value;
  }
}

TEST(Modulus, AddsSubtractsNegatesAndCentresResidues) {
  std::mt19937_64 generator(2);
  for (const std::uint64_t value : moduli()) {
    const Modulus q(value);
    for (const std::uint64_t word : words(value, generator)) {
      const std::uint64_t a = word % value;
      const std::uint64_t b = generator() % value;
      ASSERT_EQ(q.add(a, b), (a + b) % value);
      ASSERT_EQ(q.subtract(a, b), (a + value - b) % value);
      ASSERT_EQ(q.negate(a), (value - a) % value);
      const std::int64_t centred = q.centered(a);
      ASSERT_EQ(q.reduce_signed(centred), a);
      ASSERT_LE(2 * static_cast<int128>(centred), static_cast<int128>(value));
      ASSERT_GT(2 * static_cast<int128>(centred), -static_cast<int128>(value));
    }
  }
}

TEST(Modulus, PowersMatchRepeatedProducts) {
  for (const std::uint64_t value : moduli()) {
    const Modulus q(value);
    std::uint64_t expected = 1 % value;
    for (std::uint64_t exponent = 0; exponent < 40; ++exponent) {
      ASSERT_EQ(q.power(value / 3 + 1, exponent), expected);
      ASSERT_EQ(q.power(value / 3 + 1 + value, exponent), expected);  // of any word
      expected = q.multiply(expected, value / 3 + 1);
    }
  }
}

TEST(Modulus, KnowsItsBits) {
  for (const std::uint64_t value : moduli()) {
    const int bits = Modulus(value).bits();
    EXPECT_GE(value, 1ULL << (bits - 1));
    EXPECT_LT(value, 1ULL << bits);
  }
}

TEST(ShoupFactor, MultipliesAnyWord) {
  std::mt19937_64 generator(3);
  for (const std::uint64_t value : moduli()) {
    const Modulus q(value);
    for (const std::uint64_t factor :
         {std::uint64_t{0}, std::uint64_t{1} % value, value - 1, generator() % value}) {
      const ShoupFactor w(factor, q);
      ASSERT_EQ(w.quotient, static_cast<std::uint64_t>((static_cast<uint128>(factor) << 64) / value));
      for (const std::uint64_t a : words(value, generator)) {
        const auto expected = static_cast<std::uint64_t>(static_cast<uint128>(a) * factor % value);
        const std::uint64_t lazy = multiply_lazy(a, w, value);
        ASSERT_LT(lazy, 2 * value);
        ASSERT_EQ(lazy % value, expected);
        ASSERT_EQ(multiply(a, w, value), expected);
      }
    }
  }
}

TEST(Inverse, MultipliesToOneOrIsZero) {
  std::mt19937_64 generator(4);
  for (const std::uint64_t value : moduli()) {
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t a = generator();
      const std::uint64_t inverse = arith::inverse(a, value);
      if (std::gcd(a, value) == 1) {
        ASSERT_LT(inverse, value);
        ASSERT_EQ(Modulus(value).multiply(inverse, a), 1 % value);
      } else {
        ASSERT_EQ(inverse, 0U);
      }
    }
  }
}

TEST(ReverseBits, IsAnInvolutionThatMovesBits) {
  for (int bits = 1; bits <= 17; ++bits) {
    EXPECT_EQ(reverse_bits(1, bits), 1ULL << (bits - 1));
    for (std::uint64_t i = 0; i < 1ULL << bits; i += 7)
      EXPECT_EQ(reverse_bits(reverse_bits(i, bits), bits), i);
  }
}

TEST(BigInteger, ProductsResiduesAndLogarithms) {
  const std::vector<std::uint64_t> factors = {(1ULL << 61) - 1, 65537, 1ULL << 60};
  const BigInteger product = arith::product(factors);
  for (const std::uint64_t factor : factors) EXPECT_EQ(product % factor, 0);
  EXPECT_EQ(arith::product({}), 1);
  EXPECT_EQ(modulo(product + 5, 65537), 5U);
  EXPECT_EQ(modulo(-product - 5, 65537), 65532U);
  EXPECT_EQ(modulo(BigInteger(-1), ~0ULL), ~0ULL - 1);
  EXPECT_DOUBLE_EQ(arith::log2(BigInteger(1) << 5000), 5000);
  EXPECT_DOUBLE_EQ(arith::log2(BigInteger(3)), std::log2(3.0));
  // To double precision, where bits are cut, too.
  for (const unsigned bits : {61U, 64U, 100U}) {
    EXPECT_DOUBLE_EQ(arith::log2((BigInteger(1) << bits) - 1), bits);
  }
  EXPECT_NEAR(arith::log2((BigInteger(3) << 2000) + 1), 2000 + std::log2(3.0), 1e-9);
}

}  // namespace
}  // namespace hemera::arith
