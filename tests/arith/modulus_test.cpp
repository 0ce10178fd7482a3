// Arithmetic modulo numbers of 64 bits, and primes.
#include "hemera/arith/modulus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/primes.hpp"

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

TEST(Primes, AgreeWithTheSieveOfEratosthenes) {
  constexpr std::size_t limit = 200000;
  std::vector<bool> composite(limit, false);
  for (std::size_t n = 2; n < limit; ++n) {
    ASSERT_EQ(is_prime(n), !composite[n]) << n;
    for (std::size_t multiple = 2 * n; !composite[n] && multiple < limit; multiple += n)
      composite[multiple] = true;
  }
  EXPECT_FALSE(is_prime(0));
  EXPECT_FALSE(is_prime(1));
}

TEST(Primes, LargeKnownOnes) {
  EXPECT_TRUE(is_prime((1ULL << 61) - 1));
  EXPECT_TRUE(is_prime(18446744073709551557ULL));  // the largest below 2^64
  EXPECT_FALSE(is_prime(18446744073709551556ULL));
  // Strong pseudoprimes to the bases 2; 2, 3, 5, 7; and 2 ... 31 (Jaeschke; Sorenson and Webster).
  EXPECT_FALSE(is_prime(2047));
  EXPECT_FALSE(is_prime(3215031751ULL));
  EXPECT_FALSE(is_prime(3825123056546413051ULL));
  EXPECT_FALSE(is_prime(((1ULL << 31) - 1) * ((1ULL << 31) - 1)));
}

TEST(PrimesNearest, AreNearestFirstAndInTheInterval) {
  const std::uint64_t step = 1 << 16;
  const double target = 1ULL << 45;
  const auto found = primes_nearest(target, step, 12, 1ULL << 44, 1ULL << 46);
  ASSERT_EQ(found.size(), 12U);
  EXPECT_EQ(std::set<std::uint64_t>(found.begin(), found.end()).size(), 12U);
  const auto distance = [&](std::uint64_t p) { return p > 1ULL << 45 ? p - (1ULL << 45) : (1ULL << 45) - p; };
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(is_prime(found[i]));
    EXPECT_EQ(found[i] % step, 1U);
    if (i > 0) {
      EXPECT_LE(distance(found[i - 1]), distance(found[i]));
    }
  }
  // None nearer was left out.
  for (std::uint64_t p = (1ULL << 45) + 1 - step * (distance(found.back()) / step);
       distance(p) < distance(found.back()); p += step) {
    EXPECT_EQ(is_prime(p), std::find(found.begin(), found.end(), p) != found.end()) << p;
  }
  // Taken ones are passed over, and the order of the others stays.
  const auto rest = primes_nearest(target, step, 10, 1ULL << 44, 1ULL << 46, std::span(found).first(2));
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), found.begin() + 2));
}

TEST(PrimesNearest, ReturnFewerWhenTheIntervalIsExhausted) {
  const auto found = primes_nearest(100, 2, 1000, 50, 150);
  std::size_t expected = 0;
  for (std::uint64_t n = 50; n < 150; ++n) expected += is_prime(n) ? 1 : 0;
  EXPECT_EQ(found.size(), expected);
  EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](std::uint64_t p) { return p >= 50 && p < 150; }));
}

TEST(PrimesNearest, TheLowerBoundIsInTheIntervalAndTheUpperIsNot) {
  EXPECT_EQ(primes_nearest(60, 2, 100, 53, 67), (std::vector<std::uint64_t>{59, 61, 53}));
  EXPECT_EQ(primes_nearest(53, 2, 100, 53, 54), (std::vector<std::uint64_t>{53}));
  EXPECT_TRUE(primes_nearest(53, 2, 100, 54, 59).empty());
}

TEST(PrimesNearest, TheTargetMayLieAnywhere) {
  using Primes = std::vector<std::uint64_t>;
  EXPECT_EQ(primes_nearest(100, 2, 3, 50, 80), (Primes{79, 73, 71}));  // above the interval
  EXPECT_EQ(primes_nearest(10, 2, 3, 50, 80), (Primes{53, 59, 61}));   // below it
  EXPECT_EQ(primes_nearest(10, 4, 100, 0, 30), (Primes{13, 5, 17, 29}));
  EXPECT_EQ(primes_nearest(60.6, 2, 2, 50, 80), (Primes{61, 59}));
}

TEST(PrimesBelow, EndAtTheBoundAndPassOverTakenOnes) {
  using Primes = std::vector<std::uint64_t>;
  EXPECT_EQ(primes_below(29, 4, 10), (Primes{17, 13, 5}));
  EXPECT_EQ(primes_below(30, 4, 10), (Primes{29, 17, 13, 5}));
  EXPECT_EQ(primes_below(30, 4, 2, Primes{17, 3}), (Primes{29, 13}));
}

TEST(PrimesBelow, AreTheLargest) {
  for (const int bits : {20, 30, 50, 60, 61}) {
    const std::uint64_t step = 1 << 11;
    const auto found = primes_below(1ULL << bits, step, 5);
    ASSERT_EQ(found.size(), 5U);
    std::size_t next = 0;
    for (std::uint64_t p = (1ULL << bits) - step + 1; next < 5; p -= step) {
      if (is_prime(p)) {
        EXPECT_EQ(found[next], p);
        ++next;
      }
    }
  }
  EXPECT_TRUE(primes_below(2, 2, 1).empty());
  EXPECT_EQ(primes_below(1 << 12, 1 << 11, 4).size(), is_prime((1 << 11) + 1) ? 1U : 0U);
}

TEST(PrimitiveRoot, MinimalOneHasTheOrderAndIsTheSmallest) {
  for (const int bits : {30, 61}) {
    const std::uint64_t order = 1 << 11;
    const Modulus q(primes_below(1ULL << bits, order, 1).front());
    const std::uint64_t root = minimal_primitive_root(order, q);
    ASSERT_TRUE(is_primitive_root(root, order, q));
    EXPECT_EQ(q.power(root, order), 1U);
    EXPECT_NE(q.power(root, order / 2), 1U);
    for (std::uint64_t k = 1; k < order; k += 2) EXPECT_GE(q.power(root, k), root);
    EXPECT_FALSE(is_primitive_root(q.multiply(root, root), order, q));
    EXPECT_FALSE(is_primitive_root(0, order, q));
    EXPECT_FALSE(is_primitive_root(1, order, q));
    EXPECT_FALSE(is_primitive_root(root + q.value(), order, q));
  }
  EXPECT_TRUE(is_primitive_root(1, 1, Modulus(65537)));
  EXPECT_FALSE(is_primitive_root(3, 1, Modulus(65537)));
  EXPECT_EQ(minimal_primitive_root(1 << 20, Modulus(65537)), 0U);
  EXPECT_EQ(minimal_primitive_root(2, Modulus(65537)), 65536U);
}

}  // namespace
}  // namespace hemera::arith
