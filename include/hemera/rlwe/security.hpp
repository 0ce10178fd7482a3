// How hard the lattice problem behind a set of parameters is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hemera::rlwe {

/// Classes of classical security, weakest first.
enum class Security {
  below_128,          ///< weaker than every table
  at_least_128_2018,  ///< 128 bits by the 2018 standard's table only
  at_least_128,
  at_least_192,
  at_least_256,
};

/// Secret keys: coefficients uniform in {-1, 0, 1}, or exactly `weight` of them +-1, or Gaussian.
struct SecretDistribution {
  /// Non-zero coefficients; 0: not fixed.
  std::size_t weight = 0;
  /// Standard deviation of a discrete Gaussian; 0: ternary.
  double deviation = 0;
  /// Uniform ternary.
  [[nodiscard]] bool is_uniform() const { return weight == 0 && deviation == 0; }
  friend bool operator==(const SecretDistribution&, const SecretDistribution&) = default;
};

/// The largest log2(Q P) that has `bits` (128, 192, 256) of classical security at degree N with uniform
/// ternary secrets and sigma 3.19: Bossuat et al., "Security guidelines for implementing homomorphic
/// encryption", ePrint 2024/463, Table 5.2. Empty where the table has no entry.
std::optional<int> max_log_modulus(std::size_t degree, int bits);

/// The same of the HomomorphicEncryption.org standard of 2018 (128 bits only), Table 1.
std::optional<int> max_log_modulus_2018(std::size_t degree);

/// Class of degree N and log2(Q P). A fixed-weight secret is classed by committed estimates only
/// (none yet), below_128 without one; a Gaussian one of at least the error's deviation by the table of
/// ternary ones, which are no harder to find. An error deviation under 3.19 is below_128.
Security classify(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma);

/// ">=256", ">=192", ">=128", ">=128 (2018 table)" or "below 128".
std::string name(Security security);

/// 256, 192, 128 (both tables) or 0.
int bits(Security security);

}  // namespace hemera::rlwe
