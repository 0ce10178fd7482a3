// CKKS: every operation is a homomorphism up to the stated error.
#include "hemera/schemes/ckks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "host_words.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

TEST(CkksParameters, ForCircuitAreSecureAndBelow2To50) {
  const auto parameters = parameters_for({.depth = 6, .scale_bits = 40, .slots = 4096});
  EXPECT_EQ(parameters.security(), rlwe::Security::at_least_128);
  EXPECT_EQ(parameters.levels(), 7U);
  EXPECT_GE(parameters.degree(), 8192U);
  for (const auto& level : parameters.literal().levels) {
    for (const std::uint64_t prime : level) EXPECT_LT(prime, std::uint64_t{1} << 50);
  }
  for (const std::uint64_t prime : parameters.literal().special_primes)
    EXPECT_LT(prime, std::uint64_t{1} << 50);
}

TEST(CkksParameters, WeakOnesAreRefusedUnlessAskedFor) {
  ChainRequest request{.degree = 4096, .prime_bits = {50, 40, 40}, .special_bits = {50}, .scale = 0x1p40};
  EXPECT_THROW(parameters_from_bits(request), SecurityError);
  request.security.reset();
  EXPECT_EQ(parameters_from_bits(request).security(), rlwe::Security::below_128);
}

// Exactly as many digits as are asked for, of consecutive primes: of the same size but for the last one,
// where that makes as many, else of sizes that differ by one. More than there are primes are refused.
TEST(CkksParameters, HaveAsManyDigitsAsAreAskedFor) {
  const auto check = [](const rlwe::Parameters& parameters, std::size_t count) {
    const auto& digits = parameters.literal().digits;
    ASSERT_EQ(digits.size(), count);
    std::vector<std::uint64_t> primes;
    std::size_t longest = 0, shortest = 1000;
    for (const auto& digit : digits) {
      primes.insert(primes.end(), digit.begin(), digit.end());
      longest = std::max(longest, digit.size());
      shortest = std::min(shortest, digit.size());
    }
    EXPECT_EQ(primes, parameters.literal().levels.back());
    EXPECT_GE(shortest, 1U);
    EXPECT_EQ(longest, (primes.size() + count - 1) / count);
    if ((primes.size() + longest - 1) / longest != count) {
      EXPECT_LE(longest - shortest, 1U);
      return;
    }
    for (std::size_t i = 0; i + 1 < count; ++i) EXPECT_EQ(digits[i].size(), longest);
  };
  for (const std::size_t primes : {1, 4, 7}) {
    ChainRequest chain{.degree = 1024,
                       .prime_bits = std::vector<int>(primes, 40),
                       .special_bits = {50},
                       .scale = 0x1p40,
                       .security = std::nullopt};
    CircuitRequest circuit{.depth = primes - 1,
                           .scale_bits = 30,
                           .slots = 8,
                           .range_bits = 10,
                           .degree = 1024,
                           .security = std::nullopt};
    ASSERT_EQ(parameters_for(circuit).literal().levels.back().size(), primes);
    for (std::size_t count = 1; count <= primes + 1; ++count) {
      SCOPED_TRACE(std::to_string(count) + " digits of " + std::to_string(primes) + " primes");
      chain.digits = circuit.digits = count;
      if (count > primes) {
        EXPECT_THROW(parameters_from_bits(chain), ParameterError);
        EXPECT_THROW(parameters_for(circuit), ParameterError);
        continue;
      }
      check(parameters_from_bits(chain), count);
      check(parameters_for(circuit), count);
    }
  }
  // Levels that are no parts of each other have more primes together.
  DropRequest drops{.degree = 1024, .last_bits = 40, .drops = {40, 40, 40}, .scale = 0x1p30, .security = {}};
  const rlwe::Parameters chosen = parameters_from_drops(drops);
  std::size_t all = 0;
  for (const auto& digit : chosen.literal().digits) all += digit.size();
  ASSERT_GT(all, 4U);
  for (drops.digits = 1; drops.digits <= all; ++drops.digits) {
    EXPECT_EQ(parameters_from_drops(drops).literal().digits.size(), drops.digits);
  }
  EXPECT_THROW(parameters_from_drops(drops), ParameterError);
}

TEST(Ckks, EncryptionIsInvertedByDecryption) {
  const Session session(small_parameters(2));
  for (const std::size_t slots : {1U, 2U, 64U, 512U}) {
    const Values values = random_values(3 * slots, slots);
    const auto plaintext = session.encoder->encode(values, {3});
    const auto with_public = ckks::encrypt(plaintext, *session.keys.public_key);
    const auto with_secret = ckks::encrypt(plaintext, session.secret);
    EXPECT_TRUE(with_secret.seed.has_value());
    EXPECT_LT(session.error(with_public, values), tolerance);
    EXPECT_LT(session.error(with_secret, values), tolerance);
  }
}

TEST(Ckks, PowersUseLogarithmicDepth) {
  const Session session(small_parameters(4));
  const Values a = random_values(512, 4, 0.7);
  const auto x = session.encrypt(a);
  for (const std::uint64_t exponent : {1U, 2U, 3U, 5U, 7U, 8U, 15U, 16U}) {
    const auto power = session.evaluator->power(x, exponent);
    const Values expected =
        map2(a, a, [&](auto u, auto) { return std::pow(u, static_cast<double>(exponent)); });
    EXPECT_LT(session.error(power, expected), tolerance) << exponent;
  }
  EXPECT_THROW(static_cast<void>(session.evaluator->power(x, 33)), LevelError);
}

TEST(Ckks, WholeNumbersOfManyBitsMultiply) {
  const Session session(parameters_for({.depth = 1,
                                        .scale_bits = 40,
                                        .slots = 512,
                                        .range_bits = 45,
                                        .degree = 1024,
                                        .security = std::nullopt}));
  const Values a = random_values(512, 8);
  const auto x = session.encrypt(a);
  for (const double c : {0x1p31 - 1, 0x1p31, -0x1p31 - 1, 0x1p32 + 3, -0x1p40}) {
    auto product = session.evaluator->multiply_scalar(x, c);
    EXPECT_EQ(product.meta.level, x.meta.level);
    Values found = session.decrypt(product);
    for (Complex& value : found) value /= c;
    EXPECT_LT(largest_difference(found, a), tolerance) << c;
  }
}

TEST(Ckks, ComplexNumbersOfWholePartsTakeNoLevel) {
  const Values a = random_values(512, 9);
  rlwe::ParametersLiteral of_seal = small_parameters(1).literal();
  of_seal.galois_generator = 3;
  for (const rlwe::Parameters& parameters : {small_parameters(1), rlwe::Parameters(of_seal)}) {
    const bool is_exact = parameters.literal().galois_generator == 5;
    const Session session(parameters);
    const Evaluator& ev = *session.evaluator;
    for (const std::size_t level : {1, 0}) {
      const auto x = ev.lower_to_level(session.encrypt(a), level);
      for (const Complex c : {Complex(0, 1), Complex(0, -1), Complex(3, -2), Complex(-70001, 0x1p12)}) {
        if (!is_exact && level == 0) continue;
        auto product = ev.multiply_scalar(x, c);
        EXPECT_EQ(product.meta.noise_scale_degree, is_exact ? 1 : 2);
        EXPECT_TRUE(product.meta.is_complex);
        Values found = session.decrypt(product);
        for (Complex& value : found) value /= c;
        EXPECT_LT(largest_difference(found, a), tolerance) << level << ' ' << c;
      }
    }
  }
  // No rounding: twice by i is the negative, in each bit.
  const Session session(small_parameters(1));
  auto turned = session.encrypt(a);
  const auto negative = session.evaluator->negate(turned);
  for (int i = 0; i < 2; ++i) session.evaluator->multiply_scalar_inplace(turned, {0, 1});
  EXPECT_EQ(tests::host_words(*session.context, turned.poly),
            tests::host_words(*session.context, negative.poly));
}

class CkksGadget : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CkksGadget, RotationsAndConjugation) {
  const auto parameters = small_parameters(3, GetParam());
  const Session session(parameters, {.rotations = {1, 2, 4, -1, 37}, .conjugation = true});
  const Values a = random_values(512, 7);
  const auto x = session.encrypt(a);
  const Evaluator& ev = *session.evaluator;
  const auto rotated = [&](std::int64_t steps) {
    Values result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      result[i] = a[static_cast<std::size_t>(static_cast<std::int64_t>(i + 1024) + steps) % a.size()];
    }
    return result;
  };
  for (const std::int64_t steps : {0, 1, 2, 3, -1, 37, 6, 512, -511}) {
    EXPECT_LT(session.error(ev.rotate(x, steps), rotated(steps)), tolerance) << steps;
  }
  const std::vector<std::int64_t> steps = {1, 37, 0, 3};
  const auto hoisted = ev.rotate_hoisted(x, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_LT(session.error(hoisted[i], rotated(steps[i])), tolerance);
  }
  Values conjugated = a;
  for (Complex& value : conjugated) value = std::conj(value);
  EXPECT_LT(session.error(ev.conjugate(x), conjugated), tolerance);
  EXPECT_THROW(static_cast<void>(ev.rotate(x, 100)), MissingKeyError);
}

INSTANTIATE_TEST_SUITE_P(Digits, CkksGadget, ::testing::Values(1, 2, 4));

TEST(Ckks, HoistedRotationsAreBitIdentical) {
  const Session session(small_parameters(3, 2), {.rotations = {1, 5}});
  const auto x = session.encrypt(random_values(512, 8));
  const std::vector<std::int64_t> steps = {1, 5};
  const auto hoisted = session.evaluator->rotate_hoisted(x, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto single = session.evaluator->rotate(x, steps[i]);
    EXPECT_EQ(tests::host_words(*session.context, single.poly),
              tests::host_words(*session.context, hoisted[i].poly));
  }
}

TEST(Ckks, InnerProductsAreSumsOfProducts) {
  for (const std::uint64_t manual : {0, 1}) {
    auto literal = small_parameters(3).literal();
    if (manual != 0) literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);
    const Session session{rlwe::Parameters(literal)};
    const Evaluator& evaluator = *session.evaluator;
    constexpr std::size_t terms = 4;
    Values expected(2 * 512, 0);
    std::vector<Ciphertext> x, y;
    std::vector<rlwe::Plaintext> plain;
    for (std::size_t i = 0; i < terms; ++i) {
      // One of them meets each element of the batch.
      const Values a = random_values(i == 1 ? 512 : 2 * 512, 10 + i), b = random_values(2 * 512, 20 + i);
      for (std::size_t j = 0; j < expected.size(); ++j) expected[j] += a[j % a.size()] * b[j];
      x.push_back(session.encrypt(a, i == 1 ? rlwe::BatchShape{} : rlwe::BatchShape{2}));
      y.push_back(session.encrypt(b, {2}));
      plain.push_back(session.encoder->encode(b, {2}));
    }
    std::vector<const Ciphertext*> left, right;
    std::vector<const rlwe::Plaintext*> weights;
    for (std::size_t i = 0; i < terms; ++i) {
      left.push_back(&x[i]);
      right.push_back(&y[i]);
      weights.push_back(&plain[i]);
    }
    Ciphertext one_by_one = evaluator.multiply_plain(x[0], plain[0]);
    for (std::size_t i = 1; i < terms; ++i) {
      evaluator.add_inplace(one_by_one, evaluator.multiply_plain(x[i], plain[i]));
    }
    const Ciphertext weighted = evaluator.dot(left, weights);
    EXPECT_EQ(weighted.meta.scale, one_by_one.meta.scale);
    EXPECT_EQ(weighted.meta.noise_scale_degree, 2);
    // The same residues.
    EXPECT_EQ(session.decrypt(weighted), session.decrypt(one_by_one));
    EXPECT_LT(session.error(weighted, expected), tolerance);
    const Ciphertext product = evaluator.dot(left, right);
    EXPECT_EQ(product.size(), 2U);
    EXPECT_LT(session.error(product, expected), tolerance);
    // A product is brought together with fresh operands like an addend; by hand it is an error.
    const std::vector<const Ciphertext*> mixed = {&x[0], &product};
    const std::vector<const Ciphertext*> factors = {&y[0], &y[1]};
    if (manual != 0) {
      EXPECT_THROW(static_cast<void>(evaluator.dot(mixed, factors)), ScaleError);
      continue;
    }
    Values of_mixed = session.decrypt(x[0]);
    const Values b0 = session.decrypt(y[0]), b1 = session.decrypt(y[1]);
    for (std::size_t j = 0; j < of_mixed.size(); ++j) of_mixed[j] = of_mixed[j] * b0[j] + expected[j] * b1[j];
    EXPECT_LT(session.error(evaluator.dot(mixed, factors), of_mixed), 8 * tolerance);
    const std::vector<const rlwe::Plaintext*> plain_factors = {&plain[0], &plain[1]};
    EXPECT_LT(session.error(evaluator.dot(mixed, plain_factors), of_mixed), 8 * tolerance);
    EXPECT_THROW(static_cast<void>(evaluator.dot(left, factors)), ParameterError);
  }
}

// Also those that wait for their rescale: what follows takes no level to bring scales together.
TEST(Ckks, ProductsHaveTheScaleOfTheLevelThatTheyGoTo) {
  const Session session(small_parameters(6));
  const Evaluator& ev = *session.evaluator;
  const Values a = random_values(512, 21), b = random_values(512, 22);
  const Values wanted = map2(a, b, [](Complex x, Complex y) { return x * y; });
  const Ciphertext x = session.encrypt(a), product = ev.multiply(x, session.encrypt(b));
  for (std::size_t level = 6; level-- > 0;) {
    const Ciphertext low = ev.lower_to_level(product, level);
    EXPECT_EQ(low.meta.noise_scale_degree, 1);
    EXPECT_NEAR(low.meta.scale / session.context->scales().level_scale(level), 1, 0x1p-36) << level;
    EXPECT_LT(session.error(low, wanted), tolerance) << level;
    const Ciphertext sum = ev.add(low, ev.lower_to_level(x, level));
    EXPECT_EQ(sum.meta.level, level);
  }
}

TEST(Ckks, CiphertextsOfScalesThatSumsTakeAreJoined) {
  const Session session(small_parameters(6));
  const Evaluator& ev = *session.evaluator;
  const Values a = random_values(512, 23), b = random_values(512, 24);
  const Ciphertext at_once = ev.lower_to_level(session.encrypt(a), 1);
  const Ciphertext in_steps =
      ev.lower_to_level(ev.lower_to_level(ev.lower_to_level(session.encrypt(b), 4), 3), 1);
  Ciphertext other = in_steps.clone();
  other.meta.scale = rlwe::Scale(in_steps.meta.scale * (1 + 0x1p-44));
  Values both = a;
  both.insert(both.end(), b.begin(), b.end());
  for (const Ciphertext* second : {&in_steps, &std::as_const(other)}) {
    const std::vector<const Ciphertext*> parts = {&at_once, second};
    EXPECT_LT(session.error(rlwe::stack(parts), both), tolerance);
  }
  other.meta.scale = rlwe::Scale(in_steps.meta.scale * (1 + 0x1p-30));
  const std::vector<const Ciphertext*> apart = {&at_once, &other};
  EXPECT_THROW(rlwe::stack(apart), MismatchError);
}

}  // namespace
}  // namespace hemera::ckks
