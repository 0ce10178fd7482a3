// Properties of BGV's correction factors and of the level at which it multiplies.
#include <numeric>
#include <utility>

#include "hemera/rlwe/metadata.hpp"
#include "hemera/rlwe/noise.hpp"
#include "schemes/bgv/correction.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {
namespace {

const std::uint64_t moduli[] = {2, 3, 4, 257, 65536, 65537, 1032193, 9, 1000, (std::uint64_t{1} << 59) - 55};

// 1. Multipliers bring both factors together, are invertible, and for a prime t are no larger than sqrt(t).
TEST(BgvCorrectionTest, BalancedMultipliers) {
  std::mt19937_64 random(7);
  for (const std::uint64_t value : moduli) {
    SCOPED_TRACE(value);
    const arith::Modulus t(value);
    for (int trial = 0; trial < 200; ++trial) {
      const auto unit = [&] {
        for (;;) {
          const std::uint64_t candidate = random() % value;
          if (std::gcd(candidate, value) == 1) return candidate;
        }
      };
      const std::uint64_t first = unit();
      const std::uint64_t second = unit();
      const auto m = bgv::balance(t, first, second, 20, 20);
      EXPECT_EQ(t.multiply(t.reduce_signed(m.a), first), t.multiply(t.reduce_signed(m.b), second));
      EXPECT_EQ(std::gcd(t.reduce_signed(m.a), value), 1U);
      EXPECT_EQ(std::gcd(t.reduce_signed(m.b), value), 1U);
      if (arith::is_prime(value)) {
        const double cost = std::abs(static_cast<double>(m.a)) + std::abs(static_cast<double>(m.b));
        EXPECT_LE(cost, 2.5 * std::sqrt(static_cast<double>(value)));
      }
      // A noisier operand gets the smaller multiplier.
      const auto skewed = bgv::balance(t, first, second, 60, 0);
      EXPECT_EQ(skewed.a, 1);
    }
    EXPECT_EQ(bgv::balance(t, 1, 1, 5, 5).a, 1);
    EXPECT_EQ(bgv::balance(t, 1, 1, 5, 5).b, 1);
  }
}

// Where a noise is unknown, the pair is SEAL's: those of an independent program that follows its rule.
TEST(BgvCorrectionTest, UnknownNoiseIsBalancedLikeSeal) {
  struct Case {
    std::uint64_t t, first, second;
    std::int64_t a, b;
  };
  for (const Case& wanted :
       {Case{65537, 1, 49745, 4, 83}, Case{65537, 49745, 1, 83, 4}, Case{65537, 3, 5, 5, 3},
        Case{65537, 12345, 54321, 285, -4}, Case{64, 1, 17, 13, -3}, Case{64, 17, 1, -15, 1},
        Case{64, 57, 49, -7, 1}, Case{1032193, 12345, 54321, 101, 536}}) {
    const arith::Modulus t(wanted.t);
    for (const auto& [noise_a, noise_b] :
         {std::pair(rlwe::unknown_noise, 20.0), std::pair(3.0, rlwe::unknown_noise),
          std::pair(rlwe::unknown_noise, rlwe::unknown_noise)}) {
      const auto m = bgv::balance(t, wanted.first, wanted.second, noise_a, noise_b);
      EXPECT_EQ(m.a, wanted.a);
      EXPECT_EQ(m.b, wanted.b);
    }
  }
}

// 2. For small t the multipliers' cost is within a factor of 2 of the best of all pairs.
TEST(BgvCorrectionTest, BalanceIsNearlyOptimal) {
  for (const std::uint64_t value : {257, 64, 97}) {
    const arith::Modulus t(value);
    for (std::uint64_t ratio = 1; ratio < value; ++ratio) {
      if (std::gcd(ratio, value) != 1) continue;
      std::uint64_t least = value;
      for (std::uint64_t a = 1; a < value; ++a) {
        if (std::gcd(a, value) != 1) continue;
        const auto cost =
            static_cast<std::uint64_t>(std::abs(t.centered(a)) + std::abs(t.centered(t.multiply(a, ratio))));
        least = std::min(least, cost);
      }
      const auto m = bgv::balance(t, ratio, 1, 0, 0);
      EXPECT_LE(static_cast<std::uint64_t>(std::abs(m.a) + std::abs(m.b)), 2 * least)
          << value << " " << ratio;
    }
  }
}

// 3. A modulus switch multiplies the factor by the inverse of the dropped prime; the decrypted residue is the
// factor times the value; and products multiply factors.
TEST(BgvCorrectionTest, FactorsFollowSwitchesAndProducts) {
  for (const std::uint64_t value : {std::uint64_t{65537}, std::uint64_t{1} << 16}) {
    Session<Bgv> session(test_chain<Bgv>(value, 5));
    const arith::Modulus& t = session.t;
    const Values a = session.uniform();
    rlwe::Ciphertext x = session.encrypt(a);
    EXPECT_EQ(x.meta.correction, 1U);
    const std::size_t level = x.meta.level;
    const std::uint64_t dropped =
        session.context->base(level).without(session.context->base(level - 1)).modulus(0).value();
    session.evaluator.rescale_inplace(x);
    EXPECT_EQ(t.multiply(x.meta.correction, t.reduce(dropped)), 1U);
    const std::uint64_t once = x.meta.correction;
    rlwe::Ciphertext raw = x.clone();
    raw.meta.correction = 1;  // decryption then shows the residue as it is
    EXPECT_EQ(session.decrypt(raw), session.scale(a, static_cast<std::int64_t>(once)));
    const rlwe::Ciphertext square = session.evaluator.square(x);
    if (square.meta.level == x.meta.level) {
      EXPECT_EQ(square.meta.correction, t.multiply(once, once));
    }
    session.expect(square, session.multiply(a, a));
  }
}

// 4. Sums and differences of ciphertexts at one level with different factors; the sum's noise stays small.
TEST(BgvCorrectionTest, SumsAlignFactors) {
  for (const std::uint64_t value : {std::uint64_t{65537}, std::uint64_t{1} << 16, std::uint64_t{3}}) {
    SCOPED_TRACE(value);
    auto literal = test_chain<Bgv>(value, 5).literal();
    literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);  // factors differ at one level
    Session<Bgv> session{rlwe::Parameters(literal)};
    const auto& evaluator = session.evaluator;
    const Values a = session.uniform();
    const Values b = session.uniform();
    rlwe::Ciphertext x = session.encrypt(a);
    const rlwe::Ciphertext y = session.encrypt(b);
    evaluator.rescale_inplace(x);
    rlwe::Ciphertext product = evaluator.square(x);  // factor q^-2
    rlwe::Ciphertext low = y.clone();
    evaluator.rescale_inplace(low);  // factor q^-1
    const Values squares = session.multiply(a, a);
    session.expect(evaluator.add(product, low), session.add(squares, b));
    session.expect(evaluator.subtract(product, low), session.subtract(squares, b));
    session.expect(evaluator.subtract(low, product), session.subtract(b, squares));
    // A sum of equals costs a bit and about sqrt(t) (more where not every short pair is invertible).
    rlwe::Ciphertext other = evaluator.multiply_scalar(low, 1);
    other.meta.correction = session.t.multiply(other.meta.correction, other.meta.correction);
    const double before = low.meta.noise_log2;
    const double after = evaluator.add(low, other).meta.noise_log2;
    EXPECT_LE(after, before + 0.5 * std::log2(static_cast<double>(value)) + (value % 2 == 1 ? 2.5 : 4));
    // Plaintexts and scalars meet the factor.
    const rlwe::Plaintext plain = session.encode(b);
    evaluator.add_plain_inplace(product, plain);
    session.expect(product, session.add(squares, b));
    evaluator.subtract_plain_inplace(product, plain);
    rlwe::Ciphertext sum = product.clone();
    const std::uint64_t term = value - 2;
    evaluator.add_scalar_inplace(sum, static_cast<std::int64_t>(term));
    const bool slots = session.natural_encoding() == rlwe::Encoding::slots;
    session.expect(sum, session.add(squares, slots ? session.constant(term) : session.single(0, term)));
    evaluator.multiply_plain_inplace(product, plain);
    session.expect(product, session.multiply(squares, b));
  }
}

// 5. The chosen level keeps within half a bit of the best budget of all levels, and is the lowest that does.
TEST(BgvCorrectionTest, MultipliesAtTheBestLevel) {
  std::vector<double> log_moduli;
  for (int i = 1; i <= 12; ++i) log_moduli.push_back(60 + 31.0 * i);
  const bgv::LevelSetting setting{
      .degree = 8192, .log_moduli = log_moduli, .rounding_log2 = 30, .switching_log2 = [](std::size_t) {
        return 35.0;
      }};
  for (std::size_t level_a = 0; level_a < log_moduli.size(); ++level_a) {
    for (std::size_t level_b = 0; level_b < log_moduli.size(); ++level_b) {
      for (const double extra : {1.0, 20.0, 45.0, 90.0}) {
        const bgv::Operand a{level_a, 30 + extra};
        const bgv::Operand b{level_b, 31};
        std::vector<double> budgets;
        for (std::size_t level = 0; level <= std::min(level_a, level_b); ++level) {
          const double product = bgv::product_noise_log2(8192, bgv::noise_at_level(setting, a, level),
                                                         bgv::noise_at_level(setting, b, level));
          budgets.push_back(log_moduli[level] - 1 - rlwe::add_log2(product, 35));
        }
        const std::size_t chosen = bgv::multiplication_level(setting, a, b);
        ASSERT_LT(chosen, budgets.size());
        const double best = *std::max_element(budgets.begin(), budgets.end());
        EXPECT_GE(budgets[chosen], best - 0.5);
        for (std::size_t level = 0; level < chosen; ++level) EXPECT_LT(budgets[level], best - 0.5);
      }
    }
  }
}

// 6. Automatic mode gets further down a chain of products than never switching.
TEST(BgvCorrectionTest, AutomaticModeSavesBudget) {
  const auto parameters = test_chain<Bgv>(65537, 8, 1, 0, 1024, 40);
  auto literal = parameters.literal();
  literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);
  const auto depth = [](Session<Bgv>& session) {
    Values values = session.uniform();
    rlwe::Ciphertext x = session.encrypt(values);
    int products = -1;
    for (; Bgv::guaranteed(x) > 0; ++products) {
      EXPECT_EQ(session.decrypt(x), values);
      x = session.evaluator.square(x);
      values = session.multiply(values, values);
    }
    return products;
  };
  Session<Bgv> automatic(parameters);
  Session<Bgv> manual{rlwe::Parameters(literal)};
  EXPECT_GE(depth(automatic), 6);
  EXPECT_LE(depth(manual), 3);
}

}  // namespace
}  // namespace hemera::testing
