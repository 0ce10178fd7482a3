// How BFV's noise grows (docs/noise.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::bfv {

/// The facts for the bound of a product.
struct ProductSetting {
  std::size_t degree = 0;
  std::uint64_t plain_modulus = 0;
  rlwe::SecretDistribution secret;
  /// log2 Q at the level.
  double log_modulus = 0;
  /// Multiplier::rounding_error and operand_rounding_log2 of the variant.
  double rounding_error = 0.5;
  double operand_rounding_log2 = 0;
};

/// log2 bound of the noise of a product, before relinearization, from those of its operands.
double product_noise_log2(const ProductSetting& setting, double a, double b);

}  // namespace hemera::bfv
