// Where limits lie, to the bit: levels that are low enough, numbers that round, primes that are taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "host_words.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer/rules.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {
namespace {

template <typename S>
class IntegerLimits : public ::testing::Test {};
using Schemes = ::testing::Types<Bfv, Bgv>;
TYPED_TEST_SUITE(IntegerLimits, Schemes);

// The lowest level that guarantees a bit, or none lower.
TYPED_TEST(IntegerLimits, ShrinkGoesToTheLowestLevelThatGuaranteesABit) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 4, 1, 0, 1024, 30));
  rlwe::Ciphertext x = session.encrypt(session.constant(1));
  const std::size_t top = x.meta.level;
  std::vector<std::size_t> seen;
  for (double noise = x.meta.noise_log2; noise < session.context->base(top).log2() + 2; noise += 0.4) {
    x.meta.noise_log2 = noise;
    std::size_t expected = top;
    rlwe::Ciphertext lower = x.clone();
    while (lower.meta.level > 0) {
      session.evaluator.rescale_inplace(lower);
      if (S::capacity(lower) - lower.meta.noise_log2 >= 1) expected = lower.meta.level;
    }
    EXPECT_EQ(session.evaluator.shrink(x).meta.level, expected) << "noise 2^" << noise;
    seen.push_back(expected);
  }
  EXPECT_EQ(seen.front(), 0U);
  EXPECT_EQ(seen.back(), top);
}

// A number is the plaintext of it in coefficient 0, bit for bit: the same rounding of Q m / t.
TYPED_TEST(IntegerLimits, NumbersAreAddedAsPlaintextsAre) {
  using S = TypeParam;
  for (const std::uint64_t t : {std::uint64_t{65537}, std::uint64_t{65536}, std::uint64_t{3},
                                std::uint64_t{2}, plain_prime(45, 1024)}) {
    SCOPED_TRACE(t);
    Session<S> session(test_chain<S>(t, 3));
    const rlwe::Ciphertext x = session.encrypt(session.uniform(), {}, rlwe::Encoding::coefficients);
    const auto words = [&](const rlwe::Ciphertext& a) { return tests::host_words(*session.context, a.poly); };
    const auto half = static_cast<std::int64_t>(t / 2);
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, half, half + 1,
                                      -half, half / 2, static_cast<std::int64_t>(t - 1)}) {
      rlwe::Ciphertext by_number = session.evaluator.add_scalar(x, number);
      rlwe::Ciphertext by_plaintext = session.evaluator.add_plain(
          x, session.encode({session.t.reduce_signed(number)}, {}, rlwe::Encoding::coefficients));
      EXPECT_EQ(words(by_number), words(by_plaintext)) << number;
    }
  }
}

// Sizes that are given: the largest primes are taken, but for t.
TYPED_TEST(IntegerLimits, ThePlaintextModulusIsNoPrimeOfTheChain) {
  const std::uint64_t t = plain_prime(40, 1024);
  const rlwe::Parameters chain = test_chain<TypeParam>(t, 3, 1, 0, 1024, 40);
  for (const std::uint64_t prime : chain.literal().levels.back()) EXPECT_LT(prime, t);
}

// The search skips the plaintext modulus where it is one of the primes that it would take. From prime to
// prime of its results that comes about (in BFV, whose primes are larger, it does not).
TEST(ParameterSearch, SkipsThePlaintextModulus) {
  std::size_t skipped = 0;
  for (const auto& [depth, bits] : {std::pair<std::size_t, int>{3, 42}, {5, 29}, {5, 39}}) {
    std::uint64_t t = plain_prime(bits, 1024);
    for (int step = 0; step < 8; ++step) {
      const rlwe::Parameters made = Bgv::for_circuit(
          {.depth = depth, .plain_modulus = t, .terms = 1, .degree = 1024, .security = std::nullopt});
      std::vector<std::uint64_t> primes = made.literal().levels.back();
      const auto& special = made.literal().special_primes;
      primes.insert(primes.end(), special.begin(), special.end());
      std::sort(primes.begin(), primes.end());
      EXPECT_EQ(std::find(primes.begin(), primes.end(), t), primes.end());
      // Primes follow each other: one between two that were taken was left out.
      if (primes.front() < t && t < primes.back()) ++skipped;
      t = primes[primes.size() / 2];
    }
  }
  EXPECT_GT(skipped, 0U);
}

TEST(BgvNoise, ModulusSwitchingOfOddAndEvenModuli) {
  const integer::Rules& rules = integer::rules_of(rlwe::Scheme::bgv);
  EXPECT_EQ(rules.switching_half_range(3), 1.5);
  EXPECT_EQ(rules.switching_half_range(65537), 32768.5);
  EXPECT_EQ(rules.switching_half_range(2), 2);
  EXPECT_EQ(rules.switching_half_range(65536), 32769);
  EXPECT_DOUBLE_EQ(bgv::product_noise_log2(1024, 3, 4), 1 + 5 + 7);
  EXPECT_THROW(static_cast<void>(integer::rules_of(rlwe::Scheme::ckks)), ParameterError);
}

}  // namespace
}  // namespace hemera::testing

namespace hemera::ckks {
namespace {

// Limits of a ciphertext at level 0, its level's scale aside.
struct Limits : ::testing::Test {
  Session session{small_parameters(2)};
  const rlwe::Context& context = *session.context;
  Ciphertext x = session.encrypt(Values(512, 0.5));

  // What a sum changed in every place of component 0: an integer modulo the primes.
  [[nodiscard]] std::int64_t added(double number) const {
    Ciphertext sum = session.evaluator->add_scalar(x, number);
    const auto first = [&](const Ciphertext& a) { return tests::host_words(context, a.poly)[0]; };
    const arith::Modulus& q = context.base(x.meta.level).modulus(0);
    return q.centered(q.subtract(first(sum), first(x)));
  }
};

// value * scale to the nearest integer, ties to even.
TEST_F(Limits, NumbersAreRoundedToTheNearestInteger) {
  x.meta.scale = 0x1p20;
  const auto scaled = [&](double value) { return added(value / 0x1p20); };
  for (const auto& [value, integer] : {std::pair<double, std::int64_t>{0.5, 0},
                                       {1.5, 2},
                                       {2.5, 2},
                                       {3.5, 4},
                                       {-0.5, 0},
                                       {-1.5, -2},
                                       {-2.5, -2},
                                       {0.5000001, 1},
                                       {-0.5000001, -1},
                                       {1.4999999, 1},
                                       {0.75, 1},
                                       {-0.25, 0},
                                       {7, 7},
                                       {-7, -7},
                                       {1048577.5, 1048578},
                                       {1048576.5, 1048576}}) {
    EXPECT_EQ(scaled(value), integer) << value;
  }
}

// A scale that just fits a level, and one that does not.
TEST_F(Limits, TheScaleOfAProductFitsItsLevel) {
  const std::size_t level = x.meta.level;
  const double room = context.base(level).log2() - 1 - std::log2(context.scales().level_scale(level));
  for (const double away : {-0.01, 0.01}) {
    Ciphertext y = x.clone();
    y.meta.scale = std::exp2(room + away);
    const auto multiply = [&] { session.evaluator->multiply_scalar_inplace(y, 0.25); };
    if (away < 0) {
      EXPECT_NO_THROW(multiply());
    } else {
      EXPECT_THROW(multiply(), LevelError);
    }
  }
}

// Products with ciphertexts, plaintexts and numbers alike, at every level, alone and in sums.
TEST_F(Limits, EveryProductFitsItsLevel) {
  const Evaluator& e = *session.evaluator;
  for (std::size_t level = 0; level <= context.top_level(); ++level) {
    SCOPED_TRACE(level);
    Ciphertext a = x.clone();
    e.adjust_to_level_inplace(a, level);
    const double bits = context.base(level).log2();
    const double own = std::log2(a.meta.scale);
    for (const double away : {-0.01, 0.01}) {
      const double scale = std::exp2(bits - 1 - own + away);
      const rlwe::Plaintext plain = session.encoder->encode(Values(1, 0x1p-30), {}, level, scale);
      const rlwe::Plaintext period = session.encoder->encode_over(context.base(level), Values(1, 0x1p-30), {},
                                                                  level, scale, Stored::one_period);
      const std::vector<const Ciphertext*> left = {&a, &a};
      const std::vector<std::function<void()>> products = {
          [&] { return e.multiply_plain(a, plain); }, [&] { return e.multiply_plain(a, period); },
          [&] {
            return e.dot(left, std::vector<const rlwe::Plaintext*>{&plain, &plain});
          },
          [&] { return e.dot(std::span(left).first(1), std::vector<const rlwe::Plaintext*>{&period}); }};
      for (std::size_t i = 0; i < products.size(); ++i) {
        if (away < 0) {
          EXPECT_NO_THROW(products[i]()) << i;
        } else {
          EXPECT_THROW(products[i](), LevelError) << i;
        }
      }
    }
  }
  // At the last level no product of the usual scale fits.
  Ciphertext last = x.clone();
  e.adjust_to_level_inplace(last, 0);
  const Ciphertext before = last.clone();
  const rlwe::Plaintext low = session.encoder->encode(Values(512, 0.5), {}, 0);
  const rlwe::Plaintext high = session.encoder->encode(Values(512, 0.5), {});
  const std::vector<const Ciphertext*> left = {&last};
  const std::vector<std::function<void()>> products = {
      [&] { return e.multiply(last, last); },
      [&] { return e.multiply(last, x); },
      [&] { return e.multiply(x, last); },
      [&] { return e.square(last); },
      [&] { return e.power(last, 2); },
      [&] { return e.power(last, 3); },
      [&] { return e.multiply_plain(last, low); },
      [&] { return e.multiply_plain(last, high); },
      [&] { return e.dot(left, left); },
      [&] { return e.dot(left, std::vector<const rlwe::Plaintext*>{&low}); },
      [&] { return e.dot(left, std::vector<const rlwe::Plaintext*>{&high}); },
      [&] { e.multiply_scalar_inplace(last, 0.5); },
      [&] {
        e.multiply_scalar_inplace(last, {0, 0.5});
      },
      [&] { e.multiply_scalar_inplace(last, 0.5, 0x1p40); }};
  for (std::size_t i = 0; i < products.size(); ++i) {
    EXPECT_THROW(products[i](), LevelError) << i;
    EXPECT_EQ(last.meta.scale, before.meta.scale) << i;
    EXPECT_EQ(session.decrypt(last), session.decrypt(before)) << i;
  }
}

// Values of a declared bound b need log2 b + 1 bits and the spare ones, less the half that primes vary by.
TEST_F(Limits, ShrinkGoesToTheLowestLevelThatHoldsTheValues) {
  for (std::size_t level = 0; level < x.meta.level; ++level) {
    const double most =
        std::exp2(context.base(level).log2() - std::log2(x.meta.scale) - 1 - spare_bits + 0.5);
    x.meta.largest = most * 0.99;
    EXPECT_EQ(session.evaluator->shrink(x).meta.level, level);
    x.meta.largest = most * 1.01;
    EXPECT_EQ(session.evaluator->shrink(x).meta.level, level + 1);
  }
}

}  // namespace
}  // namespace hemera::ckks
