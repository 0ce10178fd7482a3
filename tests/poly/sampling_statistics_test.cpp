// Chi-square tests of the samplers' distributions. Seeds are fixed, so the outcome is too. Each statistic is
// also given a sequence that is slightly wrong and must reject it.
#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "poly/cpu/sampling.hpp"
#include "poly/sampling_support.hpp"

namespace hemera::poly::testing::sampling_statistics_tests {
namespace {

constexpr double rejected = 1e-6;
constexpr std::uint64_t prime_60 = (std::uint64_t{1} << 60) - 93;
constexpr std::size_t degree = 16384;
constexpr std::size_t polynomials = 16;

/// The probability of a chi-square statistic this large if the sample has the expected distribution.
double p_value(const std::vector<std::size_t>& observed, const std::vector<double>& probabilities) {
  double total = 0;
  for (const std::size_t count : observed) total += static_cast<double>(count);
  double statistic = 0;
  for (std::size_t bin = 0; bin < observed.size(); ++bin) {
    const double expected = total * probabilities[bin];
    EXPECT_GE(expected, 10) << "bin " << bin << " is too rare for the chi-square distribution";
    statistic += (static_cast<double>(observed[bin]) - expected) *
                 (static_cast<double>(observed[bin]) - expected) / expected;
  }
  return boost::math::gamma_q(static_cast<double>(observed.size() - 1) / 2, statistic / 2);
}

double uniform_p_value(const std::vector<std::size_t>& observed) {
  return p_value(observed, std::vector<double>(observed.size(), 1 / static_cast<double>(observed.size())));
}

/// How often bin(value) is each of 0 ... bins - 1.
template <typename Values, typename Bin>
std::vector<std::size_t> histogram(const Values& values, std::size_t bins, const Bin& bin) {
  std::vector<std::size_t> counts(bins, 0);
  for (const auto& value : values) ++counts.at(static_cast<std::size_t>(bin(value)));
  return counts;
}

class SamplingStatistics : public ::testing::Test {
 protected:
  // All coefficients of one limb, centred.
  static std::vector<std::int64_t> centered(const Poly& poly, std::size_t limb = 0) {
    std::vector<std::int64_t> result;
    for (std::size_t batch = 0; batch < poly.shape().batch; ++batch) {
      for (const std::uint64_t value : limb_values(poly.view(), batch, 0, limb)) {
        result.push_back(poly.base().modulus(limb).centered(value));
      }
    }
    return result;
  }
  static std::vector<std::uint64_t> residues(const Poly& poly, std::size_t limb) {
    std::vector<std::uint64_t> result;
    for (std::size_t batch = 0; batch < poly.shape().batch; ++batch) {
      const std::vector<std::uint64_t> values = limb_values(poly.view(), batch, 0, limb);
      result.insert(result.end(), values.begin(), values.end());
    }
    return result;
  }

  Poly make_poly(const RnsBase& base, std::size_t batch = polynomials) const {
    return Poly(memory_, batch, 1, base, Form::coefficient);
  }
  std::vector<std::int64_t> errors(double sigma, std::uint64_t seed) {
    Poly poly = make_poly(base_);
    const ErrorDistribution errors(sigma);
    sample(pool_, kernels_, poly.view(), {make_seed(seed), 0}, Distribution::error(errors), base_);
    return centered(poly);
  }
  std::vector<std::int64_t> ternaries(std::uint64_t seed) {
    Poly poly = make_poly(base_);
    sample(pool_, kernels_, poly.view(), {make_seed(seed), 0}, Distribution::ternary(), base_);
    return centered(poly);
  }

  std::shared_ptr<runtime::Memory> memory_ = runtime::make_host_memory();
  runtime::ThreadPool pool_{2};
  const cpu::SamplingKernels& kernels_ = *available_sampling_kernels().back();
  RnsBase base_ = make_base(degree, {prime_60});
};

TEST_F(SamplingStatistics, UniformResidues) {
  const RnsBase base = make_base(degree, {prime_60, 17, 257});
  Poly poly = make_poly(base);
  sample(pool_, kernels_, poly.view(), {make_seed(100), 0}, Distribution::uniform(), base);
  const std::vector<std::uint64_t> large = residues(poly, 0);
  const auto highest = [](std::uint64_t x) { return (static_cast<arith::uint128>(x) * 256) / prime_60; };
  const auto lowest = [](std::uint64_t x) { return x % 256; };
  const auto itself = [](std::uint64_t x) { return x; };
  EXPECT_GT(uniform_p_value(histogram(large, 256, highest)), rejected);
  EXPECT_GT(uniform_p_value(histogram(large, 256, lowest)), rejected);
  EXPECT_GT(uniform_p_value(histogram(residues(poly, 1), 17, itself)), rejected);
  EXPECT_GT(uniform_p_value(histogram(residues(poly, 2), 257, itself)), rejected);

  // One value in fifty moved to the lower half; and 8 random bits reduced modulo 17, one value of 16/256 for
  // 15/256.
  std::vector<std::uint64_t> biased = large;
  for (std::size_t i = 0; i < biased.size(); i += 25) biased[i] /= 2;
  EXPECT_LT(uniform_p_value(histogram(biased, 256, highest)), rejected);
  EXPECT_LT(uniform_p_value(histogram(large, 17, [](std::uint64_t x) { return x % 256 % 17; })), rejected);
}

TEST_F(SamplingStatistics, Ternary) {
  const std::vector<std::int64_t> values = ternaries(101);
  const auto bin = [](std::int64_t x) { return x + 1; };
  EXPECT_GT(uniform_p_value(histogram(values, 3, bin)), rejected);

  // From 6 bits instead of 64: 22/64 for -1.
  Poly poly = make_poly(base_);
  sample(pool_, kernels_, poly.view(), {make_seed(102), 0}, Distribution::uniform(), base_);
  EXPECT_LT(
      uniform_p_value(histogram(residues(poly, 0), 3, [](std::uint64_t x) { return 3 * (x % 64) / 64; })),
      rejected);
}

// Probabilities of e = -limit ... limit, the tails counted to the ends.
std::vector<double> gaussian_probabilities(double sigma, int limit) {
  std::vector<double> weights(2 * static_cast<std::size_t>(limit) + 1, 0);
  double total = 0;
  for (int e = -200; e <= 200; ++e) {
    const double weight = std::exp(-static_cast<double>(e) * e / (2 * sigma * sigma));
    weights[static_cast<std::size_t>(std::clamp(e, -limit, limit) + limit)] += weight;
    total += weight;
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

TEST_F(SamplingStatistics, Errors) {
  struct Case {
    double sigma, wrong_sigma;  // two percent apart
  };
  for (const auto& [sigma, wrong_sigma] : {Case{0.75, 0.765}, Case{3.19, 3.25}, Case{20.0, 19.6}}) {
    const int limit = static_cast<int>(std::ceil(3.5 * sigma));
    const std::vector<double> probabilities = gaussian_probabilities(sigma, limit);
    const auto p = [&](const std::vector<std::int64_t>& values) {
      return p_value(
          histogram(values, probabilities.size(),
                    [limit](std::int64_t e) { return std::clamp<std::int64_t>(e, -limit, limit) + limit; }),
          probabilities);
    };
    const std::vector<std::int64_t> values = errors(sigma, 103);
    EXPECT_GT(p(values), rejected) << sigma;

    double mean = 0, square = 0;
    for (const std::int64_t e : values) {
      mean += static_cast<double>(e);
      square += static_cast<double>(e) * static_cast<double>(e);
    }
    const auto count = static_cast<double>(values.size());
    EXPECT_LT(std::abs(mean / count), 5 * sigma / std::sqrt(count));
    EXPECT_NEAR(square / count, sigma * sigma, 5 * sigma * sigma * std::sqrt(2 / count));

    // Another deviation, and one sign in sixty lost.
    EXPECT_LT(p(errors(wrong_sigma, 104)), rejected) << sigma;
    std::vector<std::int64_t> lopsided = values;
    for (std::size_t i = 0; i < lopsided.size(); i += 30) lopsided[i] = std::abs(lopsided[i]);
    EXPECT_LT(p(lopsided), rejected);
  }
}

TEST_F(SamplingStatistics, FixedWeightPositionsAndSigns) {
  constexpr std::size_t small_degree = 1024, weight = 64, count = 1024;
  const RnsBase base = make_base(small_degree, {prime_60});
  Poly poly = make_poly(base, count);
  sample(pool_, kernels_, poly.view(), {make_seed(105), 0}, Distribution::fixed_weight(weight), base);
  std::vector<std::size_t> positions;
  std::vector<std::size_t> signs;
  const std::vector<std::int64_t> values = centered(poly);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const std::size_t position = i % small_degree;
    positions.push_back(position);
    signs.push_back(values[i] < 0 ? 1 : 0);
  }
  ASSERT_EQ(positions.size(), count * weight);
  const auto itself = [](std::size_t x) { return x; };
  EXPECT_GT(uniform_p_value(histogram(positions, small_degree, itself)), rejected);
  EXPECT_GT(uniform_p_value(histogram(positions, 32, [](std::size_t x) { return x / 32; })), rejected);
  EXPECT_GT(uniform_p_value(histogram(signs, 2, itself)), rejected);
  // The sign does not depend on the position.
  std::vector<std::size_t> both;
  for (std::size_t n = 0; n < signs.size(); ++n) both.push_back(signs[n] * 16 + positions[n] / 64);
  EXPECT_GT(uniform_p_value(histogram(both, 32, itself)), rejected);

  // A choice that leaves out the first four coefficients for the next four, and one sign in sixty lost.
  std::vector<std::size_t> late = positions;
  for (std::size_t& position : late) position += position < 4 ? 4 : 0;
  EXPECT_LT(uniform_p_value(histogram(late, small_degree, itself)), rejected);
  for (std::size_t n = 0; n < signs.size(); n += 30) signs[n] = 0;
  EXPECT_LT(uniform_p_value(histogram(signs, 2, itself)), rejected);
}

// Pairs of coefficients from neighbouring places of the stream are independent: next coefficient, next
// ChaCha20 block, next polynomial, next limb, other purpose, other seed.
TEST_F(SamplingStatistics, NeighboursAreIndependent) {
  const RnsBase base = make_base(degree, {prime_60, prime_60 - 2});
  Poly poly = make_poly(base);
  sample(pool_, kernels_, poly.view(), {make_seed(107), 0}, Distribution::uniform(), base);
  const auto pairs_p = [](const auto& a, const auto& b, std::size_t shift, std::size_t bins,
                          const auto& bin) {
    std::vector<std::size_t> pairs;
    for (std::size_t i = 0; i + shift < a.size(); ++i) {
      pairs.push_back(static_cast<std::size_t>(bin(a[i])) * bins +
                      static_cast<std::size_t>(bin(b[i + shift])));
    }
    return uniform_p_value(histogram(pairs, bins * bins, [](std::size_t x) { return x; }));
  };
  const std::vector<std::uint64_t> first = residues(poly, 0);
  const std::vector<std::uint64_t> second = residues(poly, 1);
  const auto low_bits = [](std::uint64_t x) { return x % 16; };
  for (const std::size_t shift : {std::size_t{1}, std::size_t{4}, degree}) {
    EXPECT_GT(pairs_p(first, first, shift, 16, low_bits), rejected) << shift;
  }
  EXPECT_GT(pairs_p(first, second, 0, 16, low_bits), rejected);

  const std::vector<std::int64_t> ternary = ternaries(107);
  const auto trit = [](std::int64_t x) { return x + 1; };
  for (const std::size_t shift : {std::size_t{1}, std::size_t{4}, degree}) {
    EXPECT_GT(pairs_p(ternary, ternary, shift, 3, trit), rejected) << shift;
  }
  EXPECT_GT(pairs_p(ternary, ternaries(108), 0, 3, trit), rejected);
  const std::vector<std::int64_t> error = errors(20.0, 107);
  std::vector<std::int64_t> uniform_trits, error_sides;
  for (const std::uint64_t x : first) uniform_trits.push_back(static_cast<std::int64_t>(x % 3) - 1);
  EXPECT_GT(pairs_p(ternary, uniform_trits, 0, 3, trit), rejected);
  // Ternary and error draw from the same 64 low bits and the same sign bit of their blocks.
  std::vector<std::size_t> table(6, 0);
  std::size_t nonzero = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    if (error[i] == 0) continue;
    ++nonzero;
    ++table[static_cast<std::size_t>(ternary[i] + 1) * 2 + (error[i] < 0 ? 1 : 0)];
  }
  EXPECT_GT(nonzero, error.size() / 2);
  EXPECT_GT(uniform_p_value(table), rejected);

  // A stream paired with itself is not.
  EXPECT_LT(pairs_p(first, first, 0, 16, low_bits), rejected);
  EXPECT_LT(pairs_p(ternary, ternaries(107), 0, 3, trit), rejected);
}

}  // namespace
}  // namespace hemera::poly::testing::sampling_statistics_tests
