// Parameters: what is refused and why, and chains from the bits that levels drop.
#include "hemera/rlwe/parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/chain_builder.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "rlwe/rlwe_support.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

ParametersLiteral good_literal() { return parameters_with(gadgets()[2]).literal(); }

template <typename Exception, typename Change>
void expect_refused(Change change, const std::string& text) {
  ParametersLiteral literal = good_literal();
  change(literal);
  tests::expect_error<Exception>([&] { return Parameters(std::move(literal)); }, {text});
}

TEST(Parameters, MistakesAreNamed) {
  using L = ParametersLiteral;
  expect_refused<ParameterError>([](L& l) { l.degree = 1000; }, "not a power of two");
  expect_refused<ParameterError>([](L& l) { l.degree = 512; }, "2^10 to 2^17");
  expect_refused<ParameterError>([](L& l) { l.levels.clear(); }, "at least one level");
  expect_refused<ParameterError>([](L& l) { l.levels[0].clear(); }, "level 0 has no primes");
  expect_refused<ParameterError>([](L& l) { l.levels[0].push_back(l.levels[0][0]); }, "a prime twice");
  expect_refused<ParameterError>([](L& l) { std::swap(l.levels[0], l.levels[1]); }, "not larger");
  expect_refused<ParameterError>([](L& l) { l.levels[0][0] = 2049 * 2048 + 1; }, "is not prime");
  expect_refused<ParameterError>([](L& l) { l.levels[0][0] += 2; }, "not 1 modulo 2N");
  expect_refused<ParameterError>([](L& l) { l.special_primes[0] = l.levels[0][0]; }, "appears twice");
  expect_refused<ParameterError>([](L& l) { l.digits.pop_back(); }, "exactly once");
  expect_refused<ParameterError>(
      [](L& l) {
        l.digits = {l.levels.back()};
        l.window_bits = 10;
      },
      "one prime each");
  expect_refused<ParameterError>([](L& l) { l.plain_modulus = 17; }, "no plaintext modulus");
  expect_refused<ParameterError>([](L& l) { l.scale = 0; }, "scale must be above 1");
  expect_refused<ParameterError>([](L& l) { l.galois_generator = 7; }, "must be 5 or 3");
  expect_refused<ParameterError>([](L& l) { l.secret.weight = 5000; }, "cannot have weight");
  expect_refused<ParameterError>([](L& l) { l.roots[l.levels[0][0]] = 1; }, "no primitive 2N-th root");
  expect_refused<ParameterError>([](L& l) { l.roots[97] = 1; }, "no modulus of the parameters");
  expect_refused<SecurityError>([](L& l) { l.security = 128; }, "no security level");
  expect_refused<ParameterError>([](L& l) { l.security = 100; }, "128, 192, 256 or none");
}

double log_product(const Primes& primes) {
  double sum = 0;
  for (const std::uint64_t prime : primes) sum += std::log2(prime);
  return sum;
}

TEST(ChainBuilder, LevelsHaveTheirBitsInAsFewPrimesBelowTwoToTheFiftyAsCanBe) {
  for (const std::size_t degree : {std::size_t{2048}, std::size_t{65536}}) {
    // As for bootstrapping: a last base, SlotToCoeff, the user's levels, EvalMod, CoeffToSlot.
    std::vector<double> drops(3, 34);
    drops.insert(drops.end(), 13, 40);
    for (const double drop : {51.8, 53.5, 55.1, 54.5, 95.6, 58.7, 60.7, 52.7, 48.0, 48.0, 48.0}) {
      drops.push_back(drop);
    }
    const auto levels = build_chain(degree, 45, drops);
    ASSERT_EQ(levels.size(), drops.size() + 1);
    double bits = 45;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      if (level > 0) bits += drops[level - 1];
      EXPECT_NEAR(log_product(levels[level]), bits, 0.1) << level;
      EXPECT_LE(levels[level].size(), std::ceil((bits - 0.07) / 49.9)) << level;
      EXPECT_EQ(std::set<std::uint64_t>(levels[level].begin(), levels[level].end()).size(),
                levels[level].size());
      for (const std::uint64_t prime : levels[level]) {
        EXPECT_LT(prime, std::uint64_t{1} << 50);
        EXPECT_EQ(prime % (2 * degree), 1U);
        EXPECT_TRUE(arith::is_prime(prime));
      }
    }
  }
}

TEST(ChainBuilder, EqualDropsShareTheirAdjustingPrimes) {
  const std::vector<double> drops(20, 40);
  std::set<std::uint64_t> adjusting;
  for (const Primes& level : build_chain(65536, 60, drops)) {
    for (const std::uint64_t prime : level) {
      if (prime < std::uint64_t{1} << 49) adjusting.insert(prime);
    }
  }
  EXPECT_LE(adjusting.size(), 6U);
}

TEST(ChainBuilder, MistakesAreNamed) {
  const auto build = [](double last, std::vector<double> drops) { return build_chain(65536, last, drops); };
  EXPECT_THROW(build(45, {0}), ParameterError);
  EXPECT_THROW(build(45, {-3}), ParameterError);
  EXPECT_THROW(build(10, {}), ParameterError);
}

}  // namespace
}  // namespace hemera::rlwe
