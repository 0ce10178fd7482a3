#include "schemes/bgv/noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hemera/rlwe/noise.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::bgv {

using rlwe::add_log2;

namespace {

// Bits of budget that a lower level may cost.
constexpr double tolerance = 0.5;

}  // namespace

double product_noise_log2(std::size_t degree, double a, double b) {
  return 1 + 0.5 * std::log2(static_cast<double>(degree)) + a + b;
}

double noise_at_level(const LevelSetting& setting, const Operand& operand, std::size_t level) {
  double noise = operand.noise_log2;
  for (std::size_t l = operand.level; l > level; --l) {
    noise = add_log2(noise + setting.log_moduli[l - 1] - setting.log_moduli[l], setting.rounding_log2);
  }
  return noise;
}

std::size_t multiplication_level(const LevelSetting& setting, const Operand& a, const Operand& b) {
  const std::size_t highest = std::min(a.level, b.level);
  // Without a bound no level is better than another.
  if (std::isinf(a.noise_log2) || std::isinf(b.noise_log2)) return highest;
  Operand x{highest, noise_at_level(setting, a, highest)};
  Operand y{highest, noise_at_level(setting, b, highest)};
  double best = -std::numeric_limits<double>::infinity();
  std::vector<double> budgets;  // from `highest` down
  for (std::size_t level = highest;; --level) {
    x = {level, noise_at_level(setting, x, level)};
    y = {level, noise_at_level(setting, y, level)};
    const double product = add_log2(product_noise_log2(setting.degree, x.noise_log2, y.noise_log2),
                                    setting.switching_log2(level));
    budgets.push_back(setting.log_moduli[level] - integer::low_bits_room_log2 - product);
    best = std::max(best, budgets.back());
    // The budget rises until the operands' noise is that of the switch, and falls from there on.
    if (level == 0 || budgets.back() < best - tolerance) break;
  }
  std::size_t lowest = 0;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    if (budgets[i] >= best - tolerance) lowest = i;
  }
  return highest - lowest;
}

}  // namespace hemera::bgv
