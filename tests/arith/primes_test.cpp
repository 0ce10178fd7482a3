#include "hemera/arith/primes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hemera::arith {
namespace {

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
