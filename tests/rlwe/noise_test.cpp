// The noise bounds: their formulas (docs/noise.md), worked out here once more, and what batches carry; and
// wide Gaussians, whose deviation and shape are those of a discrete Gaussian.
#include "hemera/rlwe/noise.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "rlwe/wide_gaussian.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using arith::BigInteger;

constexpr double tight = 1e-9;
constexpr double n = 1024;
const double tail = std::sqrt(2 * std::log(2 * n * 0x1p40));
const double secret_norm = std::sqrt(2 * n / 3 + std::sqrt(n * std::log(0x1p40) / 2));
const double secret_embedding = std::sqrt(2 * std::log(4 * n * 0x1p40)) / 0.9238 * std::sqrt(n / 3);

TEST(NoiseFormulas, OfSumsAndTails) {
  EXPECT_NEAR(add_log2(3, 3), 4, tight);
  EXPECT_NEAR(add_log2(0, std::log2(7)), 3, tight);
  EXPECT_EQ(add_log2(unknown_noise, 1), unknown_noise);
  EXPECT_NEAR(tail_factor(1024), tail, tight);
  EXPECT_NEAR(tail_factor(1024), 8.4084, 1e-4);
  EXPECT_NEAR(tail_factor(65536), 8.8893, 1e-4);
}

TEST(NoiseFormulas, OfSecrets) {
  EXPECT_NEAR(secret_norm_log2(1024, {}), std::log2(secret_norm), tight);
  EXPECT_NEAR(secret_norm_log2(1024, {.weight = 64}), 3, tight);
  EXPECT_NEAR(secret_embedding_log2(1024, {}), std::log2(secret_embedding), tight);
  EXPECT_NEAR(secret_embedding_log2(1024, {.weight = 64}), 6, tight);
}

TEST(NoiseFormulas, OfRounding) {
  const double one = 0.5 / std::sqrt(3.0) * tail;
  EXPECT_NEAR(rounding_noise_log2(1024, {}, 1, 0.5), std::log2(one), tight);
  EXPECT_NEAR(rounding_noise_log2(1024, {}, 2, 0.5), std::log2(one * std::hypot(1, secret_norm)), tight);
  EXPECT_NEAR(rounding_noise_log2(1024, {}, 3, 0.5),
              std::log2(one * std::hypot(1, secret_norm, secret_norm * secret_embedding)), tight);
  EXPECT_NEAR(rounding_noise_log2(1024, {}, 2, 4), rounding_noise_log2(1024, {}, 2, 0.5) + 3, tight);
}

// Digits of primes and of windows, with and without special primes, of both error factors.
TEST(NoiseFormulas, OfKeySwitches) {
  for (const GadgetCase& gadget : gadgets()) {
    SCOPED_TRACE(gadget.name);
    const auto context = tests::make_context(parameters_with(gadget));
    const Parameters& parameters = context->parameters();
    for (std::size_t level = 0; level <= context->top_level(); ++level) {
      const GadgetPrimes primes = parameters.default_gadget(level);
      double squares = 0;
      for (const auto& digit : primes.digits) {
        double product = 1;
        for (const std::uint64_t prime : digit) product *= static_cast<double>(prime);
        if (primes.window_bits == 0) {
          squares += std::pow(product / 2 * static_cast<double>(digit.size()), 2);
          continue;
        }
        const auto bits = static_cast<int>(std::bit_width(digit.front()));
        for (int shift = 0; shift < bits; shift += primes.window_bits) {
          squares += std::exp2(2.0 * std::min(primes.window_bits, 64));
        }
      }
      double special = 1;
      for (const std::uint64_t prime : primes.special) special *= static_cast<double>(prime);
      double bound = tail * 3.19 * std::sqrt(n * squares) / special;
      if (!primes.special.empty()) bound += tail / 2 * std::sqrt(n + 1);
      if (gadget.scheme == Scheme::bgv) bound *= 65537;
      EXPECT_NEAR(switching_noise_log2(*context, level), std::log2(bound), 1e-6) << "level " << level;
    }
  }
}

// The public part of a symmetric encryption or a key says nothing of its errors: their seed is another.
TEST(FreshRandomness, ErrorsAreNotThoseOfThePublishedSeed) {
  const auto context = tests::make_context(parameters_with(gadgets()[1]));
  const SecretKey secret = generate_secret_key(context);
  const Ciphertext x = encrypt_zero(secret, {.slots = 1});
  ASSERT_TRUE(x.seed.has_value());
  const poly::RnsBase& base = context->base(0);
  const auto errors = host_words(*context, decrypt_phase(x, secret));  // an encryption of zero is its error
  poly::Poly again = context->make_poly(1, 1, base, poly::Form::coefficient);
  auto workspace = context->make_workspace(runtime::Secrecy::secret);
  context->backend().sample(context->queue(), again.view(), *x.seed,
                            poly::Distribution::error(context->error_distribution()), base, workspace);
  const auto from_seed = host_words(*context, again);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < context->degree(); ++i) equal += errors[i] == from_seed[i] ? 1U : 0U;
  // Two draws agree in about one of nine coefficients.
  EXPECT_LT(equal, context->degree() / 3);
  // Nor do two encryptions share a seed.
  const Ciphertext y = encrypt_zero(secret, {.slots = 1});
  EXPECT_NE(host_words(*context, x.poly), host_words(*context, y.poly));
  EXPECT_NE(errors, host_words(*context, decrypt_phase(y, secret)));
}

// At each level the digits that are left keep their keys: where a level drops the first digits too, and where
// digits stand in another order than the primes.
TEST(KeyDigits, OfEveryLevelKeepTheirKeys) {
  constexpr std::size_t degree = 1024;
  const auto primes = arith::primes_below(std::uint64_t{1} << 45, 2 * degree, 4);
  const auto special = arith::primes_below(std::uint64_t{1} << 50, 2 * degree, 1);
  ParametersLiteral literal;
  literal.scheme = Scheme::ckks;
  literal.degree = degree;
  literal.scale = 0x1p30;
  literal.levels = {{primes[1]}, {primes[0], primes[1]}, {primes[3], primes[0], primes[1]}};
  literal.special_primes = special;
  literal.security.reset();
  const std::uint64_t element = 5;
  for (const std::vector<std::vector<std::uint64_t>>& digits :
       {std::vector<std::vector<std::uint64_t>>{{primes[0]}, {primes[1]}, {primes[3]}},
        {{primes[3]}, {primes[1]}, {primes[0]}},
        {{primes[0], primes[3]}, {primes[1]}}}) {
    literal.digits = digits;
    if (digits.size() == 2) literal.special_primes.push_back(primes[2]);
    const auto context = tests::make_context(Parameters(literal));
    const SecretKey secret = generate_secret_key(context);
    const SwitchingKey key = generate_galois_key(secret, element, context->top_level());
    for (std::size_t level = 0; level <= context->top_level(); ++level) {
      const Ciphertext x = encrypt_zero(secret, {.level = level, .slots = 1});
      const double bound =
          add_log2(fresh_noise_log2(*context, false), switching_noise_log2(*context, *key.gadget, level));
      EXPECT_LE(largest_coefficient_log2(*context, decrypt_phase(apply_galois(x, element, key), secret)),
                bound)
          << "level " << level;
      const SwitchingKey* keys[] = {&key};
      const std::uint64_t elements[] = {element};
      EXPECT_LE(largest_coefficient_log2(
                    *context, decrypt_phase(apply_galois_hoisted(x, elements, keys).front(), secret)),
                bound);
    }
  }
}

// A key for lower levels is a LevelError, alone and among hoisted ones.
TEST(LimitedKeys, AreALevelError) {
  const auto context = tests::make_context(parameters_with(gadgets()[1]));
  const SecretKey secret = generate_secret_key(context);
  const SwitchingKey low = generate_galois_key(secret, 5, 0);
  const SwitchingKey top = generate_galois_key(secret, 5, context->top_level());
  const Ciphertext x = encrypt_zero(secret, {.level = 1, .slots = 1});
  const SwitchingKey* keys[] = {&top, &low};
  const std::uint64_t elements[] = {5, 5};
  EXPECT_THROW(static_cast<void>(apply_galois(x, 5, low)), LevelError);
  EXPECT_THROW(static_cast<void>(apply_galois_hoisted(x, elements, keys)), LevelError);
  EXPECT_THROW(static_cast<void>(reencrypt(x, low)), LevelError);
  EXPECT_NO_THROW(
      static_cast<void>(apply_galois_hoisted(encrypt_zero(secret, {.slots = 1}), elements, keys)));
}

double deviation_of(const WideGaussian& gaussian) {
  double variance = 1, factor = static_cast<double>(gaussian.top_factor());
  if (gaussian.layers() == 1) return gaussian.narrow().sigma();
  // From the innermost sum outwards.
  variance = factor * factor + 1;
  for (std::size_t i = 2; i < gaussian.layers(); ++i) variance = 64 * variance + 1;
  return gaussian.narrow().sigma() * std::sqrt(variance);
}

TEST(WideGaussian, LayersGiveTheDeviation) {
  for (double sigma = 1; sigma <= 0x1p240; sigma *= 1.25) {
    const WideGaussian gaussian(std::min(sigma, 0x1p240));
    EXPECT_NEAR(deviation_of(gaussian) / sigma, 1, 1e-12) << sigma;
    EXPECT_GE(gaussian.top_factor(), 1U);
    EXPECT_LE(gaussian.top_factor(), 8U);
    // Convolution needs width: 2^-68 from a discrete Gaussian (docs/randomness.md).
    EXPECT_TRUE(gaussian.layers() == 1 || gaussian.narrow().sigma() > 12.64) << sigma;
  }
  EXPECT_EQ(WideGaussian(20).layers(), 1U);
  EXPECT_EQ(WideGaussian(20.5).layers(), 2U);
  for (const double sigma : {0.0, 0.9, 0x1p241, std::nan("")}) {
    EXPECT_THROW(WideGaussian{sigma}, ParameterError) << sigma;
  }
}

// One polynomial, as centred integers.
std::vector<BigInteger> sample(const Context& context, const WideGaussian& gaussian, std::uint8_t seed) {
  const poly::RnsBase& base = context.base(context.top_level());
  poly::Poly poly = context.make_poly(1, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  poly::Seed bytes;
  bytes.bytes.fill(seed);
  gaussian.sample(context, poly.view(), std::span(&bytes, 1), base);
  std::vector<std::uint64_t> words(poly.shape().words());
  context.backend().download(context.queue(), words, poly.view(), poly::Form::coefficient);
  context.queue().synchronize();
  const BigInteger product = arith::product(base.values());
  std::vector<BigInteger> result(context.degree());
  for (std::size_t i = 0; i < context.degree(); ++i) {
    BigInteger sum = 0;
    for (std::size_t l = 0; l < base.size(); ++l) {
      const arith::Modulus& q = base.modulus(l);
      const BigInteger weight = product / q.value();
      const std::uint64_t inverse = arith::inverse(arith::modulo(weight, q.value()), q.value());
      sum += weight * q.multiply(words[l * context.degree() + i], inverse);
    }
    sum %= product;
    result[i] = 2 * sum > product ? BigInteger(sum - product) : sum;
  }
  return result;
}

TEST(WideGaussian, SamplesHaveItsMoments) {
  const auto context = tests::make_context(parameters_with(gadgets()[1]));
  for (const double sigma : {3.5, 19.0, 21.0, 0x1.8p62, 0x1.6p100}) {
    const WideGaussian gaussian(sigma);
    double mean = 0, square = 0, fourth = 0, neighbours = 0;
    std::array<double, 8> low{};
    std::size_t count = 0;
    for (std::uint8_t seed = 1; seed <= 32; ++seed) {
      const auto values = sample(*context, gaussian, seed);
      double before = 0;
      for (const BigInteger& value : values) {
        const double x = static_cast<double>(value) / sigma;
        mean += x;
        square += x * x;
        fourth += x * x * x * x;
        neighbours += x * before;
        before = x;
        const BigInteger magnitude = abs(value);
        ++low[static_cast<std::uint64_t>(magnitude & 7U)];
        ++count;
      }
    }
    const auto n = static_cast<double>(count);
    const double error = 6 / std::sqrt(n);  // six deviations
    EXPECT_NEAR(mean / n, 0, error) << sigma;
    EXPECT_NEAR(square / n, 1, error * std::sqrt(2.0)) << sigma;
    EXPECT_NEAR(fourth / n, 3, error * std::sqrt(96.0)) << sigma;
    EXPECT_NEAR(neighbours / n, 0, error) << sigma;
    if (sigma > 600) {
      for (const double hits : low) EXPECT_NEAR(hits / n, 0.125, error * std::sqrt(0.125 * 0.875)) << sigma;
    }
    // Another seed gives other values, the same one the same.
    EXPECT_EQ(sample(*context, gaussian, 1), sample(*context, gaussian, 1));
    EXPECT_NE(sample(*context, gaussian, 1), sample(*context, gaussian, 2));
  }
}

}  // namespace
}  // namespace hemera::rlwe
