// Wide Gaussians: how they are put together, and that deviation and shape are those of a discrete Gaussian.
#include "rlwe/wide_gaussian.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using arith::BigInteger;

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
