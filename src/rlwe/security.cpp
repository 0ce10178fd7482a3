#include "hemera/rlwe/security.hpp"

#include <array>
#include <bit>

namespace hemera::rlwe {
namespace {

constexpr int first_log_degree = 10;

// Rows of 2^10 ... 2^17; 0: no entry.
constexpr std::array<int, 8> table_128 = {26, 53, 106, 214, 430, 868, 1747, 3523};
constexpr std::array<int, 8> table_192 = {0, 36, 73, 147, 297, 597, 1199, 2411};
constexpr std::array<int, 8> table_256 = {0, 27, 56, 114, 230, 462, 929, 1866};
constexpr std::array<int, 8> table_128_2018 = {27, 54, 109, 218, 438, 881, 0, 0};

std::optional<int> look_up(const std::array<int, 8>& table, std::size_t degree) {
  if (!std::has_single_bit(degree)) return std::nullopt;
  const int row = std::countr_zero(degree) - first_log_degree;
  if (row < 0 || row >= static_cast<int>(table.size())) return std::nullopt;
  const int bits = table[static_cast<std::size_t>(row)];
  return bits == 0 ? std::nullopt : std::optional<int>(bits);
}

bool within(std::optional<int> limit, double log_modulus) { return limit && log_modulus <= *limit; }

}  // namespace

std::optional<int> max_log_modulus(std::size_t degree, int bits) {
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

std::optional<int> max_log_modulus_2018(std::size_t degree) { return look_up(table_128_2018, degree); }

Security classify(std::size_t degree, double log_modulus, const SecretDistribution& secret, double sigma) {
  // No estimate for fixed-weight secrets has been committed yet, so none of them has a level.
  if (secret.weight != 0 || (secret.deviation != 0 && secret.deviation < sigma) || sigma < 3.19) {
    return Security::below_128;
  }
  if (within(max_log_modulus(degree, 256), log_modulus)) return Security::at_least_256;
  if (within(max_log_modulus(degree, 192), log_modulus)) return Security::at_least_192;
  if (within(max_log_modulus(degree, 128), log_modulus)) return Security::at_least_128;
  if (within(max_log_modulus_2018(degree), log_modulus)) return Security::at_least_128_2018;
  return Security::below_128;
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

}  // namespace hemera::rlwe
