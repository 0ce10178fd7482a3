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
  /// The number of independent secrets of this distribution whose sum the secret is, as of many parties: each
  /// party may know all of them but one. Security is that of one of them; bounds on noise are those of the
  /// sum. If there are more than one, they are uniform ternary.
  std::size_t terms = 1;
  /// Uniform ternary.
  [[nodiscard]] bool is_uniform() const { return weight == 0 && deviation == 0; }
  /// Whether all coefficients are -1, 0 and 1.
  [[nodiscard]] bool is_ternary() const { return deviation == 0 && terms == 1; }
  friend bool operator==(const SecretDistribution&, const SecretDistribution&) = default;
};

/// The largest log2(Q P) that has `bits` (128, 192, 256) of classical security at degree N with sigma 3.19
/// and this secret; empty where no table has an entry.
///
/// Uniform ternary secrets, and Gaussian ones of at least the error's deviation, which are no easier to
/// attack: Bossuat et al., "Security guidelines for implementing homomorphic encryption", ePrint 2024/463,
/// Table 5.2. Fixed weights up to 2N/3: the committed estimates of docs/security-estimates, by the rules of
/// docs/security.md; an entry holds for larger degrees and weights too. The modulus is that of the key or
/// ciphertext; for an ephemeral secret it is far below the parameters'.
std::optional<int> max_log_modulus(std::size_t degree, int bits, const SecretDistribution& secret = {});

/// The same of binary secrets in blocks with a single 1 each (rlwe/block_secret.hpp), by the same rules and
/// estimates: for 64 blocks from degree 2^14 on. An entry holds for larger degrees, whose blocks are longer.
std::optional<int> max_log_modulus_of_blocks(std::size_t degree, int bits, std::size_t blocks);

/// The same of the HomomorphicEncryption.org standard of 2018 (128 bits only), Table 1.
std::optional<int> max_log_modulus_2018(std::size_t degree);

/// Throws ParameterError for bits of security that are no class: other than 128, 192, 256 and none.
void require_security_class(const std::optional<int>& bits);

/// Class of degree N and log2(Q P), by max_log_modulus. A secret without an entry there, a Gaussian one
/// narrower than the error and an error deviation under 3.19 are below_128; the standard of 2018 applies only
/// to secrets of no fixed weight.
Security classify(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma);

/// A text for messages: why the tables of today do not give these parameters `bits` of security.
std::string why_less(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma,
                     int bits);

/// ">=256", ">=192", ">=128", ">=128 (2018 table)" or "below 128".
std::string name(Security security);

/// 256, 192, 128 (both tables) or 0.
int bits(Security security);

/// Whether a class has so many bits by the tables of 2024. All have 0.
bool has_bits(Security security, int bits);

}  // namespace hemera::rlwe
