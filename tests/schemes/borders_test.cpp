// What parameters are asked for: the last number that is taken, the first that is refused, and what every set
// that is made has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera {
namespace {

struct Border {
  std::string name;
  std::function<rlwe::Parameters(double)> make;
  std::vector<double> taken;
  std::vector<double> refused;
};

void expect_borders(const std::vector<Border>& table) {
  for (const Border& border : table) {
    for (const double value : border.taken) {
      EXPECT_NO_THROW(static_cast<void>(border.make(value))) << border.name << " " << value;
    }
    for (const double value : border.refused) {
      EXPECT_THROW(static_cast<void>(border.make(value)), ParameterError) << border.name << " " << value;
    }
  }
}

template <typename S>
class IntegerBorders : public ::testing::Test {};
using BothSchemes = ::testing::Types<testing::Bfv, testing::Bgv>;
TYPED_TEST_SUITE(IntegerBorders, BothSchemes);

TYPED_TEST(IntegerBorders, OfRequests) {
  using S = TypeParam;
  const auto circuit = [](auto change) {
    return [change](double value) {
      integer::CircuitRequest request{
          .depth = 1, .plain_modulus = 65537, .degree = 1024, .security = std::nullopt};
      change(request, value);
      return S::for_circuit(request);
    };
  };
  const auto chain = [](auto change) {
    return [change](double value) {
      integer::ChainRequest request{.degree = 1024,
                                    .plain_modulus = 65537,
                                    .prime_bits = {45, 45, 45},
                                    .special_bits = {46},
                                    .security = std::nullopt};
      change(request, value);
      return S::from_bits(request);
    };
  };
  const auto size = [](double value) { return static_cast<std::size_t>(value); };
  expect_borders({
      // 12289 is the least prime that is 1 modulo 2048.
      {"plain_bits",
       circuit([](auto& r, double v) { r.plain_modulus = 0, r.plain_bits = static_cast<int>(v); }),
       {14, 20, 58, 59},
       {-1, 0, 1, 13, 60, 61}},
      {"slots",
       circuit([=](auto& r, double v) { r.slots = size(v); }),
       {0, 1, 2, 1000, 1024, 2048},
       {131073, 1e9}},
      {"slots of a modulus that has none",
       circuit([=](auto& r, double v) { r.plain_modulus = 3, r.slots = size(v); }),
       {0, 1},
       {2, 3, 1024}},
      {"terms", circuit([=](auto& r, double v) { r.terms = size(v); }), {1, 2, 1000}, {0}},
      {"degree",
       circuit([=](auto& r, double v) { r.degree = size(v); }),
       {0, 1024, 4096},
       {1, 512, 1023, 1025, 3072, 262144}},
      {"digits", circuit([=](auto& r, double v) { r.depth = 3, r.digits = size(v); }), {0, 1, 2, 3}, {40}},
      {"chain degree",
       chain([=](auto& r, double v) { r.degree = size(v); }),
       {1024, 2048, 131072},
       {0, 1, 512, 1536, 262144}},
      {"prime bits",
       chain([](auto& r, double v) { r.prime_bits = {static_cast<int>(v)}; }),
       {30, 61},
       {-1, 0, 1, 2, 11, 62}},
      {"special bits",
       chain([](auto& r, double v) { r.special_bits = {static_cast<int>(v)}; }),
       {46, 61},
       {-1, 0, 1, 2, 11, 62}},
      {"chain digits",
       chain([=](auto& r, double v) {
         r.special_bits = {60, 60, 60}, r.digits = size(v);
       }),
       {0, 1, 2, 3},
       {4, 100}},
      {"plain modulus",
       chain([](auto& r, double v) { r.plain_modulus = static_cast<std::uint64_t>(v); }),
       {2, 3, 65537, 0x1p40},
       {0, 1, 0x1p60}},
  });
}

// Levels add one prime each, digits are consecutive primes whose numbers differ by at most one, special
// primes hold any digit, and all primes differ from each other and from the plain modulus.
TYPED_TEST(IntegerBorders, WhatIsMadeIsWellFormed) {
  using S = TypeParam;
  for (const std::size_t depth : {0U, 2U, 5U}) {
    for (const std::size_t digits : {0U, 1U, 3U}) {
      for (const std::uint64_t t : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
        SCOPED_TRACE(std::to_string(depth) + " " + std::to_string(digits) + " " + std::to_string(t));
        rlwe::Parameters parameters = [&]() -> rlwe::Parameters {
          try {
            return S::for_circuit({.depth = depth,
                                   .plain_bits = 30,
                                   .plain_modulus = t,
                                   .terms = 3,
                                   .digits = digits,
                                   .degree = 2048,
                                   .security = std::nullopt});
          } catch (const ParameterError& error) {
            // More digits than a short chain has primes.
            EXPECT_NE(std::string(error.what()).find(std::to_string(digits) + " digits do not fit the chain"),
                      std::string::npos)
                << error.what();
            EXPECT_GT(digits, depth);
            return testing::test_chain<S>(65537, 1);
          }
        }();
        const rlwe::ParametersLiteral& literal = parameters.literal();
        for (std::size_t level = 1; level < literal.levels.size(); ++level) {
          const auto& low = literal.levels[level - 1];
          const auto& high = literal.levels[level];
          ASSERT_EQ(high.size(), low.size() + 1);
          EXPECT_TRUE(std::equal(low.begin(), low.end(), high.begin()));
        }
        const auto& primes = literal.levels.back();
        std::vector<std::uint64_t> in_digits;
        std::size_t least = primes.size(), most = 0;
        double widest = 0;
        for (const auto& digit : literal.digits) {
          in_digits.insert(in_digits.end(), digit.begin(), digit.end());
          least = std::min(least, digit.size());
          most = std::max(most, digit.size());
          double bits = 0;
          for (const std::uint64_t prime : digit) bits += std::log2(prime);
          widest = std::max(widest, bits);
        }
        EXPECT_EQ(in_digits, primes);
        EXPECT_LE(most, least + 1);
        EXPECT_GE(parameters.log_special(), widest);
        std::set<std::uint64_t> all(primes.begin(), primes.end());
        all.insert(literal.special_primes.begin(), literal.special_primes.end());
        all.insert(literal.plain_modulus);
        EXPECT_EQ(all.size(), primes.size() + literal.special_primes.size() + 1);
        for (const std::uint64_t prime : all) {
          if (prime == literal.plain_modulus) continue;
          EXPECT_EQ(prime % (2 * parameters.degree()), 1U);
          EXPECT_TRUE(arith::is_prime(prime));
        }
      }
    }
  }
}

TEST(CkksBorders, OfRequests) {
  const auto circuit = [](auto change) {
    return [change](double value) {
      ckks::CircuitRequest request{.depth = 1, .degree = 1024, .security = std::nullopt};
      change(request, value);
      return ckks::parameters_for(request);
    };
  };
  const auto size = [](double value) { return static_cast<std::size_t>(value); };
  const auto whole = [](double value) { return static_cast<int>(value); };
  expect_borders({
      {"scale_bits",
       circuit([=](auto& r, double v) { r.scale_bits = whole(v); }),
       {20, 21, 119, 120},
       {-1, 0, 19, 121}},
      {"sharing_bits", circuit([=](auto& r, double v) { r.sharing_bits = whole(v); }), {0, 1, 64}, {-1, 65}},
      {"shares", circuit([=](auto& r, double v) { r.shares = size(v); }), {1, 2}, {0}},
      {"pieces", circuit([=](auto& r, double v) { r.pieces = size(v); }), {1, 2, 127}, {0, 128}},
      {"shares of shown results",
       circuit([=](auto& r, double v) { r.sharing_bits = 40, r.shares = size(v); }),
       {1, 2, 1000},
       {0}},
      {"depth", circuit([=](auto& r, double v) { r.depth = size(v); }), {0, 1, 10}, {1001, 1e9}},
      {"slots", circuit([=](auto& r, double v) { r.slots = size(v); }), {1, 3, 512, 1024}, {0, 65537, 1e9}},
      {"degree",
       circuit([=](auto& r, double v) { r.degree = size(v); }),
       {0, 512, 1024, 4096},
       {1025, 3072, 262144}},
      {"range_bits",
       circuit([=](auto& r, double v) { r.range_bits = whole(v); }),
       {1, 11, 12, 60},
       {-1, 0, 61}},
      {"largest",
       circuit([=](auto& r, double v) { r.largest = v; }),
       {0, 1e-300, 0.5, 1, 0x1p59},
       {-1, 0x1.0000000000001p59, HUGE_VAL, std::nan("")}},
      {"range_bits beside largest",
       circuit([=](auto& r, double v) { r.range_bits = 20, r.largest = v; }),
       {0},
       {1, 0x1p10}},
  });
}

// Range bits follow from the bound: max(1, ceil(log2) + 1), at and beside powers of two.
TEST(CkksBorders, RangeBitsAreThoseOfTheBound) {
  for (int log = -3; log <= 58; log += 6) {
    for (const auto& [factor, more] : {std::pair{1.0, 0}, {1 + 0x1p-40, 1}, {1.5, 1}, {2 - 0x1p-40, 1}}) {
      const auto parameters = ckks::parameters_for(
          {.depth = 0, .largest = factor * std::exp2(log), .degree = 1024, .security = std::nullopt});
      EXPECT_EQ(parameters.literal().range_bits, std::max(1, log + more + 1)) << log << " " << factor;
      EXPECT_EQ(parameters.literal().largest, factor * std::exp2(log));
    }
  }
}

// A level's primes divide the scale of a product back to the scale: S^2 / r is S within their spacing.
TEST(CkksBorders, WhatIsMadeIsWellFormed) {
  for (const int scale_bits : {20, 40, 50, 51, 61, 100, 120}) {
    for (const std::size_t digits : {0U, 2U}) {
      SCOPED_TRACE(std::to_string(scale_bits) + " " + std::to_string(digits));
      const auto parameters = ckks::parameters_for(
          {.depth = 3, .scale_bits = scale_bits, .digits = digits, .degree = 2048, .security = std::nullopt});
      const rlwe::ParametersLiteral& literal = parameters.literal();
      EXPECT_EQ(literal.scale, std::exp2(scale_bits));
      ASSERT_EQ(literal.levels.size(), 4U);
      double scale = literal.scale;
      for (std::size_t level = 3; level > 0; --level) {
        const auto& low = literal.levels[level - 1];
        const auto& high = literal.levels[level];
        EXPECT_TRUE(std::equal(low.begin(), low.end(), high.begin()));
        double ratio = 1;
        for (std::size_t i = low.size(); i < high.size(); ++i) ratio *= static_cast<double>(high[i]);
        scale = scale * scale / ratio;
        // Primes that are 1 modulo 4096 near 2^20 are about 2^16 apart.
        EXPECT_NEAR(std::log2(scale), scale_bits, 0.3) << level;
      }
      std::set<std::uint64_t> all(literal.levels.back().begin(), literal.levels.back().end());
      all.insert(literal.special_primes.begin(), literal.special_primes.end());
      EXPECT_EQ(all.size(), literal.levels.back().size() + literal.special_primes.size());
      if (digits != 0) {
        EXPECT_EQ(literal.digits.size(), digits);
      }
      double widest = 0;
      for (const auto& digit : literal.digits) {
        double bits = 0;
        for (const std::uint64_t prime : digit) bits += std::log2(prime);
        widest = std::max(widest, bits);
      }
      EXPECT_GE(parameters.log_special(), widest - 0.01);
      for (const std::uint64_t prime : all) {
        EXPECT_EQ(prime % 4096, 1U);
        EXPECT_TRUE(arith::is_prime(prime));
      }
    }
  }
}

// Primes on both sides of the scale keep the scales of many levels, also next to 2^50, above which primes are
// slower and below which they are taken where that is possible.
TEST(CkksBorders, ScalesStayOverManyLevels) {
  for (const int scale_bits : {35, 49, 51, 100}) {
    const auto parameters = ckks::parameters_for(
        {.depth = 40, .scale_bits = scale_bits, .degree = 1024, .security = std::nullopt});
    const auto& levels = parameters.literal().levels;
    ASSERT_EQ(levels.size(), 41U);
    double scale = parameters.scale();
    for (std::size_t level = 40; level > 0; --level) {
      double bits = 0;
      for (std::size_t i = levels[level - 1].size(); i < levels[level].size(); ++i)
        bits += std::log2(levels[level][i]);
      scale = std::exp2(2 * std::log2(scale) - bits);
      ASSERT_NEAR(std::log2(scale), scale_bits, 0.01) << scale_bits << " " << level;
    }
  }
}

// The largest primes below 2^50 are left for the special ones: one is as large as any digit of one prime.
TEST(CkksBorders, OneSpecialPrimeIsEnoughForDigitsOfOnePrime) {
  for (const int scale_bits : {28, 40, 49}) {
    for (const std::size_t depth : {1U, 3U}) {
      const auto count =
          ckks::parameters_for(
              {.depth = depth, .scale_bits = scale_bits, .degree = 1024, .security = std::nullopt})
              .literal()
              .levels.back()
              .size();
      const auto parameters = ckks::parameters_for({.depth = depth,
                                                    .scale_bits = scale_bits,
                                                    .digits = count,
                                                    .degree = 1024,
                                                    .security = std::nullopt});
      EXPECT_EQ(parameters.literal().digits.size(), count);
      EXPECT_EQ(parameters.literal().special_primes.size(), 1U) << scale_bits << " " << depth;
    }
  }
}

// A message may end at the lowest level; what is encoded for a level or a scale is none.
TEST(CkksBorders, MessagesFitTheLowestLevel) {
  const auto context = tests::make_context(
      ckks::parameters_for({.depth = 2, .slots = 4, .degree = 1024, .security = std::nullopt}));
  const ckks::Encoder encoder(context);
  const std::size_t top = context->top_level();
  // Half of the modulus of level 0 over the scale.
  const double most = std::exp2(context->base(0).log2() - 1 - std::log2(context->scales().level_scale(0)));
  for (const auto& [value, fits] : {std::pair{0.999 * most, true}, {1.001 * most, false}}) {
    const ckks::Values values(4, value);
    if (fits) {
      EXPECT_NO_THROW(static_cast<void>(encoder.encode(values, {})));
      EXPECT_NO_THROW(static_cast<void>(encoder.encode(values, {}, {}, {}, most)));
    } else {
      EXPECT_THROW(static_cast<void>(encoder.encode(values, {})), ParameterError);
      EXPECT_THROW(static_cast<void>(encoder.encode(values, {}, {}, {}, 2 * most)), ParameterError);
    }
    EXPECT_NO_THROW(static_cast<void>(encoder.encode(values, {}, top)));
    EXPECT_NO_THROW(static_cast<void>(encoder.encode(values, rlwe::BatchShape{}, std::nullopt, 0x1p40)));
    EXPECT_NO_THROW(static_cast<void>(encoder.encode(values, {}, top, 0x1p40)));
  }
}

}  // namespace
}  // namespace hemera
