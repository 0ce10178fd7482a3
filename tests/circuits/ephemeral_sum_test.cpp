// Integers of raised ciphertexts under sums of ephemeral secrets, one of each piece of a group.
#include "circuits/bootstrap/ephemeral_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "circuits/integer_bootstrap_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::ephemeral_sum_tests {
namespace {

// How often each magnitude occurs among the coefficients of a secret.
using Magnitudes = std::map<int, int>;

// A sum of secrets of weight 32 at random places, with random signs.
Magnitudes drawn(std::size_t terms, std::size_t degree, std::mt19937_64& random) {
  std::map<std::size_t, int> sum;
  for (std::size_t term = 0; term < terms; ++term) {
    std::map<std::size_t, int> own;
    while (own.size() < 32) own[random() % degree] = random() % 2 == 0 ? 1 : -1;
    for (const auto& [place, sign] : own) sum[place] += sign;
  }
  Magnitudes magnitudes;
  for (const auto& [place, value] : sum) ++magnitudes[std::abs(value)];
  magnitudes.erase(0);
  return magnitudes;
}

// The density at x of the sum of these uniforms, of widths that are the magnitudes, and of one of width 1, by
// the saddle point of its moments (H. Daniels, 1954).
double density(Magnitudes widths, double x) {
  ++widths[1];
  double slope = 0, cumulant = 0, curvature = 0;
  for (int round = 0; round < 25; ++round) {
    cumulant = curvature = 0;
    double mean = 0;
    for (const auto& [width, count] : widths) {
      const double half = slope * width / 2;
      const bool is_small = std::abs(half) < 1e-4;
      cumulant += count * (is_small ? half * half / 6 : std::log(std::sinh(half) / half));
      mean += count * width / 2.0 * (is_small ? half / 3 : 1 / std::tanh(half) - 1 / half);
      curvature += count * width * width / 4.0 *
                   (is_small ? 1 / 3.0 : 1 / (half * half) - 1 / (std::sinh(half) * std::sinh(half)));
    }
    slope += std::min(1.0, (x - mean) / curvature);
  }
  return std::exp(cumulant - slope * x) / std::sqrt(2 * std::numbers::pi * curvature);
}

TEST(EphemeralSum, FailuresAreThoseOfRandomSums) {
  constexpr int draws = 10000;
  constexpr std::size_t coefficients = 2048;
  std::mt19937_64 random(1);
  for (const auto& [terms, degree, range] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
           {3, 2048, 36}, {3, 2048, 20}, {2, 2048, 28}, {3, 65536, 36}}) {
    std::map<Magnitudes, int> patterns;
    for (int i = 0; i < draws; ++i) ++patterns[drawn(terms, degree, random)];
    double tail = 0;
    for (const auto& [magnitudes, count] : patterns) {
      for (std::size_t i = range; i < range + 6; ++i) {
        tail += 2.0 * count / draws * density(magnitudes, static_cast<double>(i));
      }
    }
    const double expected = std::log2(tail) + std::log2(static_cast<double>(coefficients));
    EXPECT_NEAR(failure_log2(range, 32 * terms, coefficients, terms, degree), expected, 0.4)
        << terms << " terms at " << degree << ", range " << range;
  }
}

TEST(EphemeralSum, PairsHaveHeavierTails) {
  // Two of 48 coefficients of 1 as one of 2: by the saddle point, too.
  for (const std::size_t pairs : {0, 1, 5}) {
    const auto ones = static_cast<int>(96 - 2 * pairs), twos = static_cast<int>(pairs);
    Magnitudes magnitudes{{1, ones}};
    if (twos != 0) magnitudes[2] = twos;
    for (const std::size_t i : {0, 10, 36}) {
      EXPECT_NEAR(overflow_log2(i, 96, pairs), std::log2(density(magnitudes, static_cast<double>(i))), 0.02);
    }
  }
  EXPECT_EQ(overflow_log2(49, 96), -HUGE_VAL);
  double sum = 0;
  for (std::size_t i = 0; i < 49; ++i) sum += (i == 0 ? 1 : 2) * std::exp2(overflow_log2(i, 96, 3));
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(EphemeralSum, RangesAreTheLeastThatDo) {
  EXPECT_EQ(sine_range_of(1), 16U);
  const auto failure = [](std::size_t range, std::size_t terms) {
    return failure_log2(range, 32 * terms, 65536, terms, 65536);
  };
  for (const std::size_t terms : {2, 3, 4, 6, 10, 20}) {
    const std::size_t range = sine_range_of(terms);
    EXPECT_LE(failure(range, terms), -128);
    EXPECT_GT(failure(range - 1, terms), -128);
  }
  std::size_t most = 20;
  while (failure(largest_sine_range, most + 1) <= -128) ++most;
  EXPECT_LE(sine_range_of(most), largest_sine_range);
  testing::expect_error<ParameterError>([&] { return sine_range_of(most + 1); },
                                        {"the largest sum has " + std::to_string(most)});
}

// A plan of many terms covers their integers, with the passes' bits of one.
TEST(EphemeralSum, PlansAreOfAllTerms) {
  const BootstrapSettings settings = integer_bootstrap_preset("bfv11-test", 3);
  EXPECT_EQ(settings.secret.terms, 3U);
  EXPECT_EQ(settings.sine_range, 36U);
  EXPECT_EQ(settings.doublings, integer_bootstrap_preset("bfv11-test").doublings + 2);
  const auto parameters = parameters_for_bootstrapping(rlwe::Scheme::bfv, 65537, settings);
  const IntegerBootstrap plan(parameters, {.passes = 2}),
      of_one(exact::exact_parameters<testing::Bfv>(65537), {.passes = 2});
  EXPECT_EQ(plan.circuit().sine_range(), 36U);
  EXPECT_NEAR(plan.circuit().failure_log2(), failure_log2(36, 96, 2048, 3, 2048), 1e-9);
  EXPECT_GT(plan.precision_bits(), of_one.precision_bits() - 1);
  const auto again = rlwe::Parameters(parameters.literal());
  EXPECT_EQ(again.format_version(), 7);
  EXPECT_LT(of_one.parameters().format_version(), 7);
}

}  // namespace
}  // namespace hemera::circuits::ephemeral_sum_tests
