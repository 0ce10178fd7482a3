#include "hemera/rlwe/security.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

constexpr int first_log_degree = 10;
constexpr double least_deviation = 3.19;  // of the errors, in every table

// Rows of 2^10 ... 2^17; 0: no entry.
constexpr std::array<int, 8> table_128 = {26, 53, 106, 214, 430, 868, 1747, 3523};
constexpr std::array<int, 8> table_192 = {0, 36, 73, 147, 297, 597, 1199, 2411};
constexpr std::array<int, 8> table_256 = {0, 27, 56, 114, 230, 462, 929, 1866};
constexpr std::array<int, 8> table_128_2018 = {27, 54, 109, 218, 438, 881, 0, 0};

// Secrets of fixed weight: the largest log2 modulus with `bits` at degree 2^log_degree. These are the rows
// that tools/security_table.py derives from docs/security-estimates; a test compares them.
struct FixedWeightEntry {
  int log_degree;
  std::size_t weight;
  int bits;
  int log_modulus;
};
constexpr FixedWeightEntry fixed_weight_table[] = {
    {15, 32, 128, 100},  {15, 192, 128, 768}, {16, 32, 128, 126},
    {16, 128, 128, 800}, {16, 128, 192, 800}, {16, 192, 128, 1550},
};

// The same of secrets in blocks (blocks.jsonl).
constexpr FixedWeightEntry block_table[] = {
    {14, 64, 128, 95},
};

std::optional<int> look_up(const std::array<int, 8>& table, std::size_t degree) {
  if (!std::has_single_bit(degree)) return std::nullopt;
  const int row = std::countr_zero(degree) - first_log_degree;
  if (row < 0 || row >= static_cast<int>(table.size())) return std::nullopt;
  const int bits = table[static_cast<std::size_t>(row)];
  return bits == 0 ? std::nullopt : std::optional<int>(bits);
}

// An instance becomes one of a larger degree by columns that the secret does not meet, so entries hold for
// larger degrees. More non-zero coefficients make every estimated attack dearer, but nothing was estimated
// past the weight of a uniform secret.
std::optional<int> look_up_fixed_weight(std::size_t degree, int bits, std::size_t weight) {
  if (!look_up(table_128, degree) || weight > 2 * degree / 3) return std::nullopt;
  std::optional<int> largest;
  for (const FixedWeightEntry& entry : fixed_weight_table) {
    if (std::size_t{1} << entry.log_degree > degree || entry.weight > weight || entry.bits < bits) continue;
    if (!largest || *largest < entry.log_modulus) largest = entry.log_modulus;
  }
  return largest;
}

bool within(std::optional<int> limit, double log_modulus) { return limit && log_modulus <= *limit; }

}  // namespace

std::optional<int> max_log_modulus(std::size_t degree, int bits, const SecretDistribution& secret) {
  if (bits != 128 && bits != 192 && bits != 256) return std::nullopt;
  if (secret.weight != 0) return look_up_fixed_weight(degree, bits, secret.weight);
  switch (bits) {
    case 128:
      return look_up(table_128, degree);
    case 192:
      return look_up(table_192, degree);
    case 256:
      return look_up(table_256, degree);
    default:
      return std::nullopt;
  }
}

std::optional<int> max_log_modulus_of_blocks(std::size_t degree, int bits, std::size_t blocks) {
  std::optional<int> largest;
  for (const FixedWeightEntry& entry : block_table) {
    if (std::size_t{1} << entry.log_degree > degree || entry.weight != blocks || entry.bits < bits) continue;
    if (!largest || *largest < entry.log_modulus) largest = entry.log_modulus;
  }
  return largest;
}

std::optional<int> max_log_modulus_2018(std::size_t degree) { return look_up(table_128_2018, degree); }

void require_security_class(const std::optional<int>& bits) {
  if (!bits || *bits == 128 || *bits == 192 || *bits == 256) return;
  throw ParameterError("security must be 128, 192, 256 or none, not " + std::to_string(*bits));
}

Security classify(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma) {
  if ((secret.deviation != 0 && secret.deviation < sigma) || sigma < least_deviation)
    return Security::below_128;
  const auto has = [&](int bits) { return within(max_log_modulus(degree, bits, secret), log_modulus); };
  if (has(256)) return Security::at_least_256;
  if (has(192)) return Security::at_least_192;
  if (has(128)) return Security::at_least_128;
  if (secret.weight == 0 && within(max_log_modulus_2018(degree), log_modulus))
    return Security::at_least_128_2018;
  return Security::below_128;
}

std::string why_less(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma,
                     int bits) {
  if (sigma < least_deviation) return "the error deviation is below 3.19";
  if (secret.deviation != 0 && secret.deviation < sigma) return "the secret's deviation is below the error's";
  const std::string at = "degree " + std::to_string(degree) +
                         (secret.weight == 0 ? "" : " with weight " + std::to_string(secret.weight));
  const auto limit = max_log_modulus(degree, bits, secret);
  if (!limit) return "no table has an entry of " + std::to_string(bits) + " bits for " + at;
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%.1f", log_modulus);
  return "log2(Q P) is " + std::string(size.data()) + ", but " + at + " allows " + std::to_string(*limit);
}

std::string name(Security security) {
  switch (security) {
    case Security::at_least_256:
      return ">=256";
    case Security::at_least_192:
      return ">=192";
    case Security::at_least_128:
      return ">=128";
    case Security::at_least_128_2018:
      return ">=128 (2018 table)";
    case Security::below_128:
      break;
  }
  return "below 128";
}

int bits(Security security) {
  switch (security) {
    case Security::at_least_256:
      return 256;
    case Security::at_least_192:
      return 192;
    case Security::at_least_128:
    case Security::at_least_128_2018:
      return 128;
    case Security::below_128:
      break;
  }
  return 0;
}

bool has_bits(Security security, int bits) {
  const int own = security == Security::at_least_128_2018 ? 0 : rlwe::bits(security);
  return own >= bits;
}

}  // namespace hemera::rlwe
