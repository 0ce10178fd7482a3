// Every entry of the tables of docs/security.md, and the borders of what they say.
#include "hemera/rlwe/security.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>

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
  EXPECT_EQ(classify(4096, 50, {.weight = 64}, 3.19), Security::below_128);
  EXPECT_EQ(classify(4096, 50, {.deviation = 3.0}, 3.19), Security::below_128);
  EXPECT_EQ(classify(4096, 50, {.deviation = 3.19}, 3.19), Security::at_least_256);
}

}  // namespace
}  // namespace hemera::rlwe
