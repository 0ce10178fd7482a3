// Every entry of the tables of docs/security.md, and the borders of what they say.
#include "hemera/rlwe/security.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hemera::rlwe {
namespace {

// J.-P. Bossuat et al., 2024/463, Table 5.2, uniform ternary secrets; 0: no entry. Degrees 2^10 to 2^17.
constexpr std::array<int, 8> bits_128 = {26, 53, 106, 214, 430, 868, 1747, 3523};
constexpr std::array<int, 8> bits_192 = {0, 36, 73, 147, 297, 597, 1199, 2411};
constexpr std::array<int, 8> bits_256 = {0, 27, 56, 114, 230, 462, 929, 1866};
// The standard of 2018.
constexpr std::array<int, 8> bits_2018 = {27, 54, 109, 218, 438, 881, 0, 0};

std::optional<int> entry(int bits) { return bits == 0 ? std::nullopt : std::optional(bits); }

TEST(SecurityTable, HasTheseEntries) {
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t degree = std::size_t{1} << (10 + i);
    EXPECT_EQ(max_log_modulus(degree, 128), entry(bits_128[i])) << degree;
    EXPECT_EQ(max_log_modulus(degree, 192), entry(bits_192[i])) << degree;
    EXPECT_EQ(max_log_modulus(degree, 256), entry(bits_256[i])) << degree;
    EXPECT_EQ(max_log_modulus_2018(degree), entry(bits_2018[i])) << degree;
  }
  for (const std::size_t degree :
       {std::size_t{0}, std::size_t{512}, std::size_t{1} << 18, std::size_t{1500}}) {
    EXPECT_EQ(max_log_modulus(degree, 128), std::nullopt) << degree;
    EXPECT_EQ(max_log_modulus_2018(degree), std::nullopt) << degree;
  }
  EXPECT_EQ(max_log_modulus(4096, 100), std::nullopt);
}

TEST(SecurityTable, AModulusAtTheBorderIsWithin) {
  constexpr SecretDistribution uniform;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t degree = std::size_t{1} << (10 + i);
    const auto classified = [&](double log_modulus) { return classify(degree, log_modulus, uniform, 3.19); };
    const auto next = [&](std::size_t row, Security otherwise) {
      return bits_2018[row] > bits_128[row] ? Security::at_least_128_2018 : otherwise;
    };
    EXPECT_EQ(classified(bits_128[i]), Security::at_least_128) << degree;
    EXPECT_EQ(classified(bits_128[i] + 0.01), next(i, Security::below_128)) << degree;
    if (bits_2018[i] != 0) {
      EXPECT_EQ(classified(bits_2018[i]), Security::at_least_128_2018) << degree;
      EXPECT_EQ(classified(bits_2018[i] + 0.01), Security::below_128) << degree;
    }
    if (i == 0) continue;
    EXPECT_EQ(classified(bits_192[i]), Security::at_least_192) << degree;
    EXPECT_EQ(classified(bits_192[i] + 0.01), Security::at_least_128) << degree;
    EXPECT_EQ(classified(bits_256[i]), Security::at_least_256) << degree;
    EXPECT_EQ(classified(bits_256[i] + 0.01), Security::at_least_192) << degree;
  }
  // Narrower errors, and secrets that no table has.
  EXPECT_EQ(classify(4096, 50, uniform, 3.18), Security::below_128);
  EXPECT_EQ(classify(4096, 50, {.deviation = 3.0}, 3.19), Security::below_128);
  EXPECT_EQ(classify(4096, 50, {.deviation = 3.19}, 3.19), Security::at_least_256);
}

// The entries themselves are held to the estimates by python/tests/test_security_table.py.
TEST(SecurityTable, FixedWeightsAreClassedByTheirOwnEntries) {
  const auto classified = [](int log_degree, double log_modulus, std::size_t weight, double sigma = 3.19) {
    return classify(std::size_t{1} << log_degree, log_modulus, {.weight = weight}, sigma);
  };
  for (const std::size_t weight : {std::size_t{32}, std::size_t{192}, std::size_t{1000}}) {
    for (const int log_degree : {15, 16, 17}) {
      const auto limit = max_log_modulus(std::size_t{1} << log_degree, 128, {.weight = weight});
      ASSERT_TRUE(limit) << log_degree << ' ' << weight;
      EXPECT_EQ(classified(log_degree, *limit, weight), Security::at_least_128);
      EXPECT_EQ(classified(log_degree, *limit + 0.01, weight),
                Security::below_128);  // the standard of 2018 is no help
      EXPECT_EQ(classified(log_degree, *limit, weight, 3.18), Security::below_128);
    }
  }
  // From weight 128 on, N = 2^16 has an entry of 192 bits; nothing else has more than 128, nor was estimated.
  for (const std::size_t weight : {std::size_t{128}, std::size_t{192}}) {
    EXPECT_EQ(classified(16, 800, weight), Security::at_least_192);
    EXPECT_EQ(classified(17, 800, weight), Security::at_least_192);
  }
  EXPECT_EQ(classified(16, 800.01, 128), Security::below_128);
  EXPECT_EQ(classified(16, 800.01, 192), Security::at_least_128);
  EXPECT_EQ(classified(16, 126.01, 127), Security::below_128);
  for (const std::size_t weight : {std::size_t{32}, std::size_t{127}}) {
    EXPECT_EQ(classified(16, 10, weight), Security::at_least_128);
  }
  EXPECT_EQ(classified(15, 10, 192), Security::at_least_128);
  // Ephemeral secrets of bootstrapping; the same weights are weak under the moduli of main secrets.
  EXPECT_EQ(classified(16, 126, 32), Security::at_least_128);
  EXPECT_EQ(classified(15, 100, 32), Security::at_least_128);
  EXPECT_EQ(classified(16, 700, 32), Security::below_128);
  EXPECT_EQ(classified(15, 700, 192), Security::at_least_128);
  // Weights and degrees below all entries, more than a uniform secret has, degrees in no table.
  EXPECT_EQ(classified(16, 50, 31), Security::below_128);
  EXPECT_EQ(classified(14, 50, 192), Security::below_128);
  EXPECT_EQ(classified(15, 50, 21845), Security::at_least_128);
  EXPECT_EQ(classified(15, 50, 21846), Security::below_128);
  EXPECT_EQ(classified(18, 50, 192), Security::below_128);
  EXPECT_EQ(max_log_modulus(std::size_t{3} << 14, 128, {.weight = 192}), std::nullopt);
  EXPECT_EQ(max_log_modulus(65536, 100, {.weight = 192}), std::nullopt);
}

// As estimated: 64 blocks, no fewer and no more, from degree 2^14 on.
TEST(SecurityTable, SecretsInBlocksHaveTheirOwnEntries) {
  constexpr std::size_t degree = std::size_t{1} << 14;
  EXPECT_EQ(max_log_modulus_of_blocks(degree, 128, 64), 95);
  EXPECT_EQ(max_log_modulus_of_blocks(4 * degree, 128, 64), 95);
  EXPECT_EQ(max_log_modulus_of_blocks(degree / 2, 128, 64), std::nullopt);
  EXPECT_EQ(max_log_modulus_of_blocks(degree, 192, 64), std::nullopt);
  EXPECT_EQ(max_log_modulus_of_blocks(2 * degree, 128, 32), std::nullopt);
  EXPECT_EQ(max_log_modulus_of_blocks(degree, 128, 128), std::nullopt);
}

TEST(SecurityTable, RefusalsNameWhatClashes) {
  EXPECT_EQ(why_less(4096, 120, {}, 3.19, 128), "log2(Q P) is 120.0, but degree 4096 allows 106");
  EXPECT_EQ(why_less(1024, 20, {}, 3.19, 192), "no table has an entry of 192 bits for degree 1024");
  EXPECT_EQ(why_less(65536, 130, {.weight = 32}, 3.19, 128),
            "log2(Q P) is 130.0, but degree 65536 with weight 32 allows 126");
  EXPECT_EQ(why_less(8192, 95, {.weight = 32}, 3.19, 128),
            "no table has an entry of 128 bits for degree 8192 with weight 32");
  EXPECT_EQ(why_less(4096, 50, {.deviation = 3.0}, 3.19, 128), "the secret's deviation is below the error's");
  EXPECT_EQ(why_less(4096, 50, {}, 3.18, 128), "the error deviation is below 3.19");
}

}  // namespace
}  // namespace hemera::rlwe
