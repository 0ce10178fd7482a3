// How BGV's noise grows, and at which level to multiply (docs/noise.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace hemera::bgv {

/// log2 bound of the noise of a product, before relinearization.
double product_noise_log2(std::size_t degree, double a, double b);

/// An operand of a multiplication: its level and log2 of its noise bound.
struct Operand {
  std::size_t level = 0;
  double noise_log2 = 0;
};

/// The facts of a modulus chain for the choice of a level.
struct LevelSetting {
  std::size_t degree = 0;
  /// log2 Q of each level.
  std::span<const double> log_moduli;
  /// Noise of one modulus switch of a ciphertext of size 2.
  double rounding_log2 = 0;
  /// Noise of the key switch after the product, at a level.
  std::function<double(std::size_t)> switching_log2;
};

/// The noise of an operand after switching down to `level`.
double noise_at_level(const LevelSetting& setting, const Operand& operand, std::size_t level);

/// The level at which to multiply: of all levels that both operands can reach, the one whose product keeps
/// the largest budget; a lower one if that costs at most half a bit, as it is faster. In effect operands are
/// switched down until their noise is about that of the switch itself (C. Gentry, S. Halevi, N. Smart,
/// "Homomorphic evaluation of the AES circuit", 2012/099).
std::size_t multiplication_level(const LevelSetting& setting, const Operand& a, const Operand& b);

}  // namespace hemera::bgv
