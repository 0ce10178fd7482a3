// The rules for scales and levels: pure functions on metadata. What other libraries' objects carry is from
// objects written by OpenFHE 1.5.1 and Microsoft SEAL 4.4.3.
#include "hemera/rlwe/scale_policy.hpp"

#include <gtest/gtest.h>

#include "hemera/runtime/error.hpp"
#include "rlwe/foreign_policies.hpp"

namespace hemera::rlwe {
namespace {

constexpr std::size_t degree = 4096;
// Four limbs, 50 and 3 x 40 bits.
const Primes flexible = {1125899906826241, 1099512266753, 1099511480321, 1099511799809};
const Primes fixed = {1125899906826241, 1099511922689, 1099511480321, 1099511799809};
const Primes bgv_primes = {35175245135873, 35174708256769, 35156991246337};
constexpr std::uint64_t t = 65537;

Metadata fresh_at(const ScalePolicy& policy, std::size_t level) {
  Metadata meta;
  meta.level = level;
  meta.slots = 64;
  return policy.fresh(meta);
}

Metadata product_of(const ScalePolicy& policy, const Metadata& a, const Metadata& b) {
  return policy.product(a, b).meta;
}

void expect(const Metadata& meta, std::size_t level, int noise_scale_degree, double scale) {
  EXPECT_EQ(meta.level, level);
  EXPECT_EQ(meta.noise_scale_degree, noise_scale_degree);
  // The library's own last bits: it takes the products in another order.
  EXPECT_NEAR(meta.scale / scale, 1, 0x1p-50);
}

TEST(OpenFhePolicy, FlexibleAutoHasTheScalesOfItsObjects) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40));
  EXPECT_DOUBLE_EQ(policy.level_scale(3), 0x1.000002a001p+40);
  EXPECT_DOUBLE_EQ(policy.level_scale(2), 0x1.000002a001p+40);
  EXPECT_DOUBLE_EQ(policy.level_scale(1), 0x1.000007800117cp+40);
  EXPECT_DOUBLE_EQ(policy.level_scale(0), 0x1.0000054001349p+40);

  const Metadata a = fresh_at(policy, 3);
  expect(a, 3, 1, 0x1.000002a001p+40);
  const Metadata ab = product_of(policy, a, a);
  expect(ab, 3, 2, 0x1.000005400206ep+80);
  expect(policy.rescaled(ab), 2, 1, 0x1.000002a001p+40);
  // (a b) a: rescaled before the product, and a brought to its level and scale.
  expect(product_of(policy, ab, a), 2, 2, 0x1.000005400206ep+80);
  EXPECT_EQ(policy.plain_product(a, a).meta.noise_scale_degree, 2);
  // A number costs a degree, whether it is an integer or not.
  EXPECT_TRUE(policy.policy().integers_cost_a_degree);
  expect(policy.number_product(a, policy.level_scale(3)), 3, 2, 0x1.000005400206ep+80);
}

// Factors are 1 at every degree, and a sum still has the higher degree.
TEST(OpenFhePolicy, FixedAutoOfBgvAlignsDegrees) {
  const ScalePolicy policy(openfhe_bgv(OpenFhe::fixed_auto, degree, bgv_primes, t));
  const Metadata one = fresh_at(policy, 2);
  const Metadata two = product_of(policy, one, one);
  EXPECT_EQ(one.correction, two.correction);
  for (const ScaleWays& ways : {policy.aligned(one, two), policy.aligned(two, one)}) {
    for (const Metadata& meta : {ways.a.meta, ways.b.meta}) {
      EXPECT_EQ(meta.level, 2U);
      EXPECT_EQ(meta.noise_scale_degree, 2);
    }
  }
}

// All eight cases of level and degree give the lower operand's level and the degree and scale of that level.
TEST(OpenFhePolicy, FlexibleAutoAlignsToTheTable) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40));
  const auto at = [&](std::size_t level, int wanted) {
    Metadata meta = fresh_at(policy, level);
    return wanted == 2 ? product_of(policy, meta, meta) : meta;
  };
  for (std::size_t high = 1; high <= 3; ++high) {
    for (std::size_t low = 0; low <= high; ++low) {
      for (const int of_high : {1, 2}) {
        for (const int of_low : {1, 2}) {
          const Metadata a = at(high, of_high);
          const Metadata b = at(low, of_low);
          const ScaleWays ways = policy.aligned(a, b);
          const int wanted = high == low ? std::max(of_high, of_low) : of_low;
          const LevelScale& scales = policy.policy().scales[low];
          for (const Metadata& meta : {ways.a.meta, ways.b.meta}) {
            EXPECT_EQ(meta.level, low) << high << of_high << low << of_low;
            EXPECT_EQ(meta.noise_scale_degree, wanted) << high << of_high << low << of_low;
            EXPECT_NEAR(meta.scale / (wanted == 2 ? scales.product_scale : scales.scale), 1, 0x1p-36);
          }
          EXPECT_TRUE(policy.is_aligned(ways.a.meta, ways.b.meta));
          // Following the steps one by one gives the same.
          Metadata followed = a;
          for (const ScaleStep& step : ways.a.steps) followed = policy.after(followed, step);
          EXPECT_EQ(followed.level, ways.a.meta.level);
          EXPECT_EQ(followed.scale, ways.a.meta.scale);
          EXPECT_EQ(followed.noise_scale_degree, ways.a.meta.noise_scale_degree);
        }
      }
    }
  }
}

TEST(OpenFhePolicy, FlexibleAutoExtStartsAtDegreeTwo) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto_ext, degree, flexible, 40));
  const Metadata a = fresh_at(policy, 3);
  const auto last = static_cast<double>(flexible[3]), before = static_cast<double>(flexible[2]);
  expect(a, 3, 2, last * before);
  // The first product begins with a rescale to the last prime but one.
  const Metadata ab = product_of(policy, a, a);
  expect(ab, 2, 2, before * before);
  expect(policy.rescaled(a), 2, 1, before);
  EXPECT_EQ(fresh_at(policy, 2).noise_scale_degree, 1);
}

TEST(OpenFhePolicy, FixedModesDivideByAPowerOfTwo) {
  for (const OpenFhe technique : {OpenFhe::fixed_manual, OpenFhe::fixed_auto}) {
    const ScalePolicy policy(openfhe_ckks(technique, degree, fixed, 40));
    const Metadata a = fresh_at(policy, 3);
    expect(a, 3, 1, 0x1p40);
    const Metadata ab = product_of(policy, a, a);
    expect(ab, 3, 2, 0x1p80);
    const Metadata reduced = policy.rescaled(ab);
    expect(reduced, 2, 1, 0x1p40);
    // (a b rescaled) a: FIXEDMANUAL drops limbs of the higher operand, FIXEDAUTO multiplies and rescales.
    const ScaleProduct product = policy.product(reduced, a);
    expect(product.meta, 2, 2, 0x1p80);
    ASSERT_EQ(product.b.steps.size(), technique == OpenFhe::fixed_manual ? 1U : 2U);
    EXPECT_EQ(product.b.steps.front().kind,
              technique == OpenFhe::fixed_manual ? ScaleStep::Kind::drop_limbs : ScaleStep::Kind::multiply);
    expect(policy.rescaled(product.meta), 1, 1, 0x1p40);
    // Rescaling a fresh ciphertext leaves degree 0.
    EXPECT_EQ(policy.rescaled(a).noise_scale_degree, 0);
  }
  // Without a rescale nothing is aligned by itself: a product and a fresh ciphertext have other scales.
  const ScalePolicy manual(openfhe_ckks(OpenFhe::fixed_manual, degree, fixed, 40));
  const Metadata a = fresh_at(manual, 3);
  EXPECT_THROW(static_cast<void>(manual.aligned(product_of(manual, a, a), a)), ScaleError);
  EXPECT_TRUE(manual.before_product(product_of(manual, a, a)).steps.empty());
}

TEST(OpenFhePolicy, BgvFactorsFollowTheTableNotTheNoise) {
  // FIXEDMANUAL: primes are 1 modulo t, factors 1; a modulus reduced fresh ciphertext has degree 0.
  const ScalePolicy manual(openfhe_bgv(OpenFhe::fixed_manual, degree, bgv_primes, t));
  const Metadata a = fresh_at(manual, 2);
  EXPECT_EQ(a.correction, 1U);
  EXPECT_EQ(manual.rescaled(a).noise_scale_degree, 0);
  EXPECT_EQ(manual.rescaled(a).correction, 1U);
  const Metadata ab = product_of(manual, a, a);
  EXPECT_EQ(ab.noise_scale_degree, 2);
  const Metadata aba = product_of(manual, manual.rescaled(ab), a);
  EXPECT_EQ(aba.level, 1U);
  EXPECT_EQ(manual.rescaled(aba).level, 0U);
  EXPECT_EQ(manual.rescaled(aba).noise_scale_degree, 1);

  // FLEXIBLEAUTO: the recursion of CKKS modulo t.
  for (const OpenFhe technique : {OpenFhe::flexible_auto, OpenFhe::flexible_auto_ext, OpenFhe::fixed_auto}) {
    const Primes& primes = technique == OpenFhe::fixed_auto ? bgv_primes : flexible;
    const ScalePolicy policy(openfhe_bgv(technique, degree, primes, t));
    const auto& factors = policy.policy().factors;
    const std::size_t top = primes.size() - 1;
    const Metadata x = fresh_at(policy, top);
    EXPECT_EQ(x.correction, x.noise_scale_degree == 2 ? factors[top].product_factor : factors[top].factor);
    const Metadata square = product_of(policy, x, x);
    EXPECT_EQ(square.noise_scale_degree, 2);
    EXPECT_EQ(square.correction, factors[square.level].product_factor);
    EXPECT_EQ(policy.rescaled(square).correction, factors[square.level - 1].factor);
    // Sums and products across levels and degrees have the factors of the lower operand's level.
    const Metadata low = policy.rescaled(square);
    for (const Metadata& high : {x, square}) {
      const ScaleWays ways = policy.aligned(high, low);
      EXPECT_EQ(ways.a.meta.level, low.level);
      EXPECT_EQ(ways.a.meta.correction, low.correction);
      EXPECT_EQ(ways.a.meta.noise_scale_degree, low.noise_scale_degree);
      const Metadata product = product_of(policy, high, low);
      EXPECT_EQ(product.correction, factors[product.level].product_factor);
    }
    // A plaintext has the factor of the level, too: the product has its square.
    EXPECT_EQ(policy.plain_product(low, {}).meta.correction, factors[low.level].product_factor);
    EXPECT_EQ(policy.plain_product(low, {}).meta.noise_scale_degree, 2);
  }
}

TEST(OpenFhePolicy, BfvCountsProductsOfCiphertexts) {
  ParametersLiteral literal = prime_chain(Scheme::bfv, degree, {1152921504606830593, 1152921504606748673});
  literal.plain_modulus = t;
  literal.rescaling = RescalingPolicy::automatic(Scheme::bfv);
  literal.rescaling->degree_of_products = DegreeOfProducts::larger_plus_one;
  const ScalePolicy policy{Parameters(literal)};
  const Metadata a = fresh_at(policy, 1);
  const Metadata ab = product_of(policy, a, a);
  EXPECT_EQ(ab.noise_scale_degree, 2);
  EXPECT_EQ(product_of(policy, ab, a).noise_scale_degree, 3);
  EXPECT_EQ(policy.plain_product(a, {}).meta.noise_scale_degree, 1);
}

TEST(SealPolicy, DividesByThePrimeAndRefusesToAlign) {
  ParametersLiteral literal = prime_chain(Scheme::ckks, degree, {1099511390209, 536813569});
  literal.scale = 0x1p29;
  literal.rescaling = seal_policy(Scheme::ckks);
  const ScalePolicy policy{Parameters(literal)};
  const Metadata a = fresh_at(policy, 1);
  const Metadata ab = product_of(policy, a, a);
  EXPECT_EQ(ab.scale, 0x1p58);
  EXPECT_EQ(policy.rescaled(ab).scale, 0x1.0007002900e7p+29);
  EXPECT_EQ(policy.dropped(a, 0).meta.scale, 0x1p29);
  EXPECT_THROW(static_cast<void>(policy.aligned(policy.rescaled(ab), policy.dropped(a, 0).meta)), ScaleError);
  EXPECT_THROW(static_cast<void>(policy.aligned(ab, policy.dropped(a, 0).meta)), MismatchError);
  EXPECT_THROW(static_cast<void>(policy.product(ab, policy.dropped(a, 0).meta)), MismatchError);
}

TEST(SealPolicy, BgvMultipliesCorrectionFactors) {
  ParametersLiteral literal = prime_chain(Scheme::bgv, degree, {68719403009, 68719230977});
  literal.plain_modulus = t;
  literal.rescaling = seal_policy(Scheme::bgv);
  const ScalePolicy policy{Parameters(literal)};
  const Metadata a = fresh_at(policy, 1);
  EXPECT_EQ(policy.rescaled(a).correction, 49745U);
  EXPECT_EQ(policy.rescaled(product_of(policy, a, a)).correction, 49745U);
  const arith::Modulus modulus(t);
  const Metadata low = policy.rescaled(a);
  EXPECT_EQ(product_of(policy, low, low).correction, modulus.multiply(49745, 49745));
  EXPECT_THROW(static_cast<void>(policy.product(a, low)), LevelError);
}

// Levels of a circuit: automatic rescaling neither enters nor leaves them.
TEST(Purposes, AutomaticRescalingStaysInTheUsersLevels) {
  ParametersLiteral literal = prime_chain(Scheme::ckks, degree, flexible);
  literal.scale = 0x1p40;
  literal.purposes = {LevelPurpose::slots_to_coefficients, LevelPurpose::user, LevelPurpose::user,
                      LevelPurpose::eval_mod};
  const Parameters parameters(literal);
  EXPECT_EQ(parameters.lowest_user_level(), 1U);
  EXPECT_EQ(parameters.highest_user_level(), 2U);
  const ScalePolicy policy(parameters);
  EXPECT_EQ(policy.level_scale(2), 0x1p40);  // the recursion starts at the user's highest level
  EXPECT_TRUE(policy.may_rescale(2));
  EXPECT_FALSE(policy.may_rescale(1));
  EXPECT_FALSE(policy.may_rescale(3));
  Metadata product = fresh_at(policy, 1);
  product = product_of(policy, product, product);
  EXPECT_TRUE(policy.before_product(product).steps.empty());
  EXPECT_TRUE(policy.finished(product).steps.empty());
  EXPECT_EQ(policy.rescaled(product).level, 0U);  // when asked for
  EXPECT_EQ(parameters.default_gadget(parameters.highest_user_level()).base.size(), 3U);
  EXPECT_EQ(parameters.public_key_primes(), Primes({flexible[0], flexible[1], flexible[2]}));

  literal.purposes[1] = LevelPurpose::eval_mod;
  literal.purposes[0] = LevelPurpose::user;
  EXPECT_THROW(static_cast<void>(Parameters(literal)), ParameterError);
}

TEST(ScalePolicy, ExactTargetScales) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40));
  const Metadata a = fresh_at(policy, 3);
  const ScaleWay way = policy.adjusted(a, 1, 0x1.8p41);
  EXPECT_EQ(way.meta.level, 1U);
  EXPECT_NEAR(way.meta.scale / 0x1.8p41, 1, 0x1p-40);
  EXPECT_THROW(static_cast<void>(policy.adjusted(a, 1, 0x1p-10)), ScaleError);
  EXPECT_THROW(static_cast<void>(policy.adjusted(a, 3, 0x1p41)), LevelError);
}

// The factor is the nearest integer, which shows where it is small.
TEST(ScalePolicy, FactorsAreRounded) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40));
  const Metadata a = fresh_at(policy, 3);
  const double one = a.scale / policy.policy().scales[3].divisor;
  for (const auto& [wanted, factor] : {std::pair{0.75, 1.0}, {1.25, 1.0}, {2.75, 3.0}, {7.25, 7.0}}) {
    const ScaleWay way = policy.adjusted(a, 2, wanted * one);
    ASSERT_EQ(way.steps.size(), 2U);
    EXPECT_EQ(way.steps.front().scale_factor.value, factor) << wanted;
    EXPECT_DOUBLE_EQ(way.meta.scale, factor * one);
  }
  EXPECT_THROW(static_cast<void>(policy.adjusted(a, 2, one / 4)), ScaleError);
}

// Every square would double what rounding adds to a scale; after some a sum would not take the result.
TEST(ScalePolicy, SquaresKeepTheScalesOfTheirLevels) {
  ParametersLiteral literal = prime_chain(Scheme::ckks, degree, flexible);
  literal.scale = 0x1p40;
  literal.rescaling = RescalingPolicy::automatic(Scheme::ckks);
  for (const ScalePolicy& policy : {ScalePolicy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40)),
                                    ScalePolicy(Parameters(literal))}) {
    Metadata a = fresh_at(policy, 3);
    a.scale *= 1 + 0x1p-39;
    for (std::size_t level = 3; level > 0; --level) {
      a = policy.rescaled(product_of(policy, a, a));
      EXPECT_EQ(a.scale, policy.level_scale(level - 1)) << level;
    }
    // A scale of a caller's own choice.
    Metadata b = fresh_at(policy, 3);
    b.scale *= 1.5;
    b = policy.rescaled(product_of(policy, b, b));
    EXPECT_NEAR(b.scale / policy.level_scale(2), 2.25, 1e-9);
  }
  literal.rescaling = RescalingPolicy::manual(Scheme::ckks);
  const ScalePolicy manual{Parameters(literal)};
  Metadata a = fresh_at(manual, 3);
  a.scale *= 1 + 0x1p-39;
  const Metadata lower = manual.rescaled(product_of(manual, a, a));
  EXPECT_EQ(lower.scale, a.scale * a.scale / manual.policy().scales[3].divisor);
}

// A rescale takes a degree, down to the policy's least: 1 of Hemera's own, 0 of OpenFHE's.
TEST(ScalePolicy, DegreesEndAtTheLeast) {
  ParametersLiteral literal = prime_chain(Scheme::ckks, degree, flexible);
  literal.scale = 0x1p40;
  for (const int least : {1, 0}) {
    literal.rescaling = RescalingPolicy::automatic(Scheme::ckks);
    literal.rescaling->least_degree = least;
    const ScalePolicy policy{Parameters(literal)};
    const Metadata a = fresh_at(policy, 3);
    EXPECT_EQ(policy.rescaled(product_of(policy, a, a)).noise_scale_degree, 1);
    EXPECT_EQ(policy.rescaled(a).noise_scale_degree, least);
    EXPECT_EQ(policy.rescaled(policy.rescaled(a)).noise_scale_degree, least);
  }
}

TEST(RescalingPolicyBytes, RoundTripAndRefuseNonsense) {
  RescalingPolicy policy = openfhe_policy(OpenFhe::flexible_auto_ext);
  policy.scales = {{1, 2, 0}, {3, 4, 5}};
  runtime::ByteWriter out;
  policy.write(out);
  runtime::ByteReader in(out.view());
  EXPECT_EQ(RescalingPolicy::read(in), policy);
  for (const std::size_t field : {0U, 1U, 2U, 3U, 4U, 5U}) {
    std::vector<std::byte> damaged(out.view().begin(), out.view().end());
    damaged[field] = std::byte{9};
    runtime::ByteReader broken(damaged);
    EXPECT_THROW(static_cast<void>(RescalingPolicy::read(broken)), FormatError) << field;
  }
}

// Scales that took different ways differ by rounding, of about one over the scale. Any more is an error, or
// is brought together.
TEST(Tolerance, IsThatOfRounding) {
  const ScalePolicy policy(openfhe_ckks(OpenFhe::flexible_auto, degree, flexible, 40));
  const Metadata a = fresh_at(policy, 2);
  for (const double away : {0x1p-38, -0x1p-38, 0x1p-37}) {
    Metadata b = a;
    b.scale *= 1 + away;
    EXPECT_TRUE(policy.is_aligned(a, b)) << away;
    EXPECT_NO_THROW(static_cast<void>(policy.plain_sum(a, b)));
  }
  for (const double away : {0x1p-36, -0x1p-36, 0x1p-30, -0x1p-30, 0x1p-20}) {
    Metadata b = a;
    b.scale *= 1 + away;
    EXPECT_FALSE(policy.is_aligned(a, b)) << away;
    EXPECT_THROW(static_cast<void>(policy.plain_sum(a, b)), ScaleError) << away;
  }
}

}  // namespace
}  // namespace hemera::rlwe
