// Integer products against the schoolbook and identities, on every instruction set.
#include "hemera/multiply/integer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/forced_isa.hpp"
#include "multiply/inert_tables.hpp"
#include "refusals.hpp"

namespace hemera::multiply {
namespace {

using Words = std::vector<std::uint64_t>;

Words random_words(std::size_t count, std::mt19937_64& random) {
  Words words(count);
  for (auto& word : words) word = random();
  return words;
}

Words schoolbook(const Words& a, const Words& b) {
  Words out(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto sum = static_cast<arith::uint128>(a[i]) * b[j] + out[i + j] + carry;
      out[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    out[i + b.size()] = carry;
  }
  return out;
}

class IntegerTest : public ::testing::TestWithParam<const char*> {
 protected:
  Words product(const Words& a, const Words& b) {
    Words out(a.size() + b.size(), 0xabcd);
    multiplier_->multiply(out, a, b, pool_);
    return out;
  }

  static arith::BigInteger number(const Words& words) {
    arith::BigInteger value = 0;
    boost::multiprecision::import_bits(value, words.begin(), words.end(), 64, false);
    return value;
  }
  // An integer in [0, 2^M] of so many words: random, all ones, 2^M, 2^(M/2), 0, or 1.
  Words extreme(std::size_t size, int kind) {
    Words words(size);
    if (kind == 0) words = random_words(size, random_);
    if (kind == 1) words.assign(size, ~std::uint64_t{0});
    words.back() = kind == 2 ? 1 : 0;
    if (kind == 3) words[size / 2] = size % 2 == 1 ? 1 : std::uint64_t{1} << 32;
    if (kind == 5) words[0] = 1;
    return words;
  }

  void SetUp() override { multiplier_.emplace(); }

  ForcedIsa isa_{GetParam()};
  std::optional<IntegerMultiplier> multiplier_;
  runtime::ThreadPool pool_{2};
  std::mt19937_64 random_{7};
};

TEST_P(IntegerTest, EqualsTheSchoolbookForEverySize) {
  for (std::size_t size = 1; size < 2000; size = size * 5 / 4 + 1) {
    const Words a = random_words(size, random_), b = random_words(size, random_);
    ASSERT_EQ(product(a, b), schoolbook(a, b)) << size;
    ASSERT_EQ(product(a, a), schoolbook(a, a)) << size;
  }
}

TEST_P(IntegerTest, EqualsTheSchoolbookForFactorsOfDifferentSize) {
  for (const std::size_t small : {0, 1, 50, 70, 333}) {
    for (const std::size_t large : {1, 100, 4000}) {
      const Words a = random_words(small, random_), b = random_words(large, random_);
      ASSERT_EQ(product(a, b), schoolbook(a, b)) << small << " " << large;
      ASSERT_EQ(product(b, a), schoolbook(a, b)) << small << " " << large;
    }
  }
}

// Digits are all maximal: the sums that the plan bounds, and the longest chains of carries. (2^n - 1)^2 =
// 2^(2n) - 2^(n+1) + 1.
TEST_P(IntegerTest, MultipliesAllOnesAtEveryLength) {
  for (std::size_t size = 64; size <= (*GetParam() == 's' ? 4096U : 262144U); size *= 2) {
    const Words ones(size, ~std::uint64_t{0});
    Words expected(2 * size, ~std::uint64_t{0});
    std::fill_n(expected.begin(), size, 0);
    expected[0] = 1;
    expected[size] -= 1;
    ASSERT_EQ(product(ones, ones), expected) << size;
  }
}

TEST_P(IntegerTest, MultipliesSparseIntegersAndLeadingZeros) {
  Words a(1000), b(800);
  a[3] = 5;
  a[700] = std::uint64_t{1} << 63;
  b[0] = 7;
  b[500] = ~std::uint64_t{0};
  EXPECT_EQ(product(a, b), schoolbook(a, b));
  EXPECT_EQ(product(Words(200), b), Words(1000));
  EXPECT_EQ(product(Words(), b), Words(800));
}

// Sums of products modulo 2^M + 1, with the integers at both ends: 2^M is -1, and 2^(M/2) its root.
TEST_P(IntegerTest, TensorProductsModuloAreTheSumsOfProducts) {
  for (const std::size_t least : {1, 1000, 9001, 150000}) {
    for (const std::size_t right : {1, 2, 3}) {
      const std::size_t exponent = plan_product_modulo(least, 64, 2, right).modulus_exponent();
      const std::size_t size = exponent / 64 + 1;
      const arith::BigInteger modulus = (arith::BigInteger(1) << exponent) + 1;
      for (int kind = 0; kind < 12; ++kind) {
        std::vector<Words> a(2), b(right), out(right + 1, Words(size, 0xabcd));
        for (auto& each : a) each = extreme(size, kind % 4);
        for (auto& each : b) each = extreme(size, kind / 2);
        const std::vector<std::span<const std::uint64_t>> left(a.begin(), a.end()),
            others(b.begin(), b.end());
        const std::vector<std::span<std::uint64_t>> to(out.begin(), out.end());
        multiplier_->tensor_product_modulo(to, left, others, exponent, pool_);
        for (std::size_t c = 0; c < out.size(); ++c) {
          arith::BigInteger expected = 0;
          for (std::size_t i = 0; i < 2; ++i) {
            if (c >= i && c - i < right) expected += number(a[i]) * number(b[c - i]);
          }
          ASSERT_EQ(number(out[c]), expected % modulus)
              << exponent << " " << right << " " << c << " " << kind;
        }
      }
    }
  }
}

// Residues modulo 2^64 - 1, at sizes with several large passes.
TEST_P(IntegerTest, HasTheRightResidueAtLargeSizes) {
  const auto residue = [](const Words& a) {
    arith::uint128 sum = 0;
    for (const auto word : a) {
      sum += word;
      sum = static_cast<std::uint64_t>(sum) + (sum >> 64);
    }
    return static_cast<std::uint64_t>(sum % ~std::uint64_t{0});
  };
  for (const std::size_t size : {5000, 79000, 500000}) {
    if (*GetParam() == 's' && size > 100000) continue;  // slow
    const Words a = random_words(size, random_), b = random_words(size - size / 7, random_);
    EXPECT_EQ(residue(product(a, b)), static_cast<std::uint64_t>(static_cast<arith::uint128>(residue(a)) *
                                                                 residue(b) % ~std::uint64_t{0}))
        << size;
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, IntegerTest, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& set) { return std::string(set.param); });

TEST(Integer, DoesNotDependOnThreadsOrEarlierProducts) {
  std::mt19937_64 random(5);
  const Words a = random_words(30000, random), b = random_words(25000, random);
  Words first(55000), second(55000);
  const IntegerMultiplier fresh, used;
  runtime::ThreadPool one(1), three(3);
  for (const std::size_t size : {20000, 300, 9000}) {
    Words out(2 * size);
    used.multiply(out, std::span(a).first(size), std::span(b).first(size), three);
  }
  fresh.multiply(first, a, b, one);
  used.multiply(second, a, b, three);
  EXPECT_EQ(first, second);
}

// The bounds that docs/multiplication.md proves from.
TEST(Integer, PlansKeepTheirBounds) {
  for (std::size_t bits = 1; bits < (std::size_t{1} << 31); bits = bits * 3 / 2 + 1) {
    for (const std::size_t other : {bits, 3 * bits}) {
      const IntegerProductPlan plan = plan_integer_product(bits, other);
      const auto b = static_cast<std::size_t>(plan.digit_bits);
      const std::size_t digits = (bits + b - 1) / b, others = (other + b - 1) / b;
      EXPECT_TRUE(std::has_single_bit(plan.length));
      EXPECT_LE(digits + others, plan.length);
      EXPECT_LE(std::log2(static_cast<double>(digits)) + 2 * plan.digit_bits, 47.99 * plan.primes);
    }
  }
}

TEST(Integer, PlansOfProductsModuloKeepTheirBounds) {
  for (std::size_t least = 1; least < (std::size_t{1} << 28); least = least * 3 / 2 + 1) {
    for (const std::size_t step : {1, 64, 4096, 640}) {
      for (const std::size_t factors : {1, 8}) {
        const IntegerProductPlan plan = plan_product_modulo(least, step, factors, factors + 1);
        const std::size_t exponent = plan.modulus_exponent();
        EXPECT_TRUE(std::has_single_bit(plan.length));
        EXPECT_GE(exponent, least);
        EXPECT_EQ(exponent % step, 0U);
        EXPECT_EQ(exponent % 64, 0U);
        EXPECT_LE(std::log2(static_cast<double>(factors * plan.length)) + 2 * plan.digit_bits + 1,
                  47.99 * plan.primes);
      }
    }
  }
}

TEST(Integer, PrimesAreAsLargeAsThePlanSays) {
  for (const InertPrime& prime : make_inert_primes(4)) {
    const arith::Modulus& p = prime.modulus;
    EXPECT_GT(std::log2(static_cast<double>(p.value())), inert_bits);
    EXPECT_LT(p.value(), std::uint64_t{1} << 48);
    EXPECT_EQ((p.value() + 1) % (std::uint64_t{1} << inert_log_order), 0U);
    EXPECT_EQ(prime.unit(1, 2), (Gaussian{0, 1}));
    for (int j = 0; j <= inert_log_order; ++j) {
      EXPECT_EQ(multiply(prime.roots[j], conjugate(prime.roots[j], p), p), (Gaussian{1, 0}));  // norm 1
      EXPECT_EQ(prime.roots[j] == (Gaussian{1, 0}), j == 0);
    }
  }
}

TEST(Integer, TooLargeIsAnErrorThatNamesTheSizes) {
  EXPECT_THROW((void)plan_integer_product(std::size_t{1} << 39, 100), OutOfMemoryError);
  EXPECT_THROW((void)plan_integer_product(0, 100), ParameterError);
  tests::expect_error<OutOfMemoryError>(
      [&] { return plan_integer_product(std::size_t{1} << 63, std::size_t{1} << 63); },
      {"9223372036854775808"});
  // Within the limit, but half a terabyte of scratch.
  const std::size_t half = std::size_t{1} << 37;
  for (const auto& plan : {+[](std::size_t bits) { return plan_integer_product(bits, bits); },
                           +[](std::size_t bits) { return plan_product_modulo(2 * bits); }}) {
    try {
      EXPECT_GT(plan(half).bytes, half);  // a machine that has them
    } catch (const OutOfMemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
    }
  }
}

TEST(Integer, RefusesWrongSizesAndOverlap) {
  const IntegerMultiplier multiplier;
  runtime::ThreadPool pool(1);
  Words a(10, 1), out(19);
  EXPECT_THROW(multiplier.multiply(out, a, a, pool), MismatchError);
  Words both(30, 1);
  const std::span<std::uint64_t> all(both);
  EXPECT_THROW(multiplier.multiply(all.first(20), all.subspan(15, 10), a, pool), MismatchError);
}

TEST(Integer, ProductsModuloRefuseWhatDoesNotFit) {
  const IntegerMultiplier multiplier;
  runtime::ThreadPool pool(1);
  const std::size_t exponent = plan_product_modulo(1000).modulus_exponent();
  Words a(exponent / 64 + 1, 1), out(a.size()), shorter(a.size() - 1);
  const auto multiply = [&](std::span<std::uint64_t> to, std::span<const std::uint64_t> from,
                            std::size_t at) {
    multiplier.tensor_product_modulo({&to, 1}, {&from, 1}, {&from, 1}, at, pool);
  };
  EXPECT_THROW(multiply(out, a, exponent), ParameterError);  // above 2^M
  a.back() = 0;
  EXPECT_NO_THROW(multiply(out, a, exponent));
  EXPECT_THROW(multiply(out, a, exponent + 64 * 3), ParameterError);
  EXPECT_THROW(multiply(shorter, a, exponent), MismatchError);
  EXPECT_THROW(multiply(out, shorter, exponent), MismatchError);
  std::span<const std::uint64_t> from(a);
  EXPECT_THROW(multiplier.tensor_product_modulo({}, {&from, 1}, {&from, 1}, exponent, pool), MismatchError);
  EXPECT_THROW((void)plan_product_modulo(std::size_t{1} << 39), OutOfMemoryError);
  EXPECT_THROW((void)plan_product_modulo(~std::size_t{0}), OutOfMemoryError);
  EXPECT_THROW((void)plan_product_modulo(1000, 1009), OutOfMemoryError);  // odd steps are too few
  EXPECT_THROW((void)plan_product_modulo(1000, 0), ParameterError);
}

TEST(Integer, GmpIsThereOrSaysHowToGetIt) {
  const Words a(5, 3), b(4, 9);
  Words out(9);
  if (built_with_gmp()) {
    multiply_by_gmp(out, a, b);
    EXPECT_EQ(out, schoolbook(a, b));
  } else {
    EXPECT_THROW(multiply_by_gmp(out, a, b), Error);
  }
}

}  // namespace
}  // namespace hemera::multiply
