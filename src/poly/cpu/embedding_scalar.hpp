// Parts of the scalar embedding kernels that other kernels and the wide path of the encoder use.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/embedding_kernels.hpp"

namespace hemera::poly::cpu {

/// value * scale rounded to the nearest integer: (-1)^negative * (high 2^64 + low) * 2^shift.
struct ScaledInteger {
  std::uint64_t low;
  std::uint64_t high;
  int shift;               // >= 0
  std::uint64_t negative;  // all ones or zero
};

/// Exact for every finite value, ties to even, constant-time: the product of the mantissas has 106 bits.
inline ScaledInteger scaled_integer(double value, const Scale& scale) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const auto normal = static_cast<std::uint64_t>(biased != 0);
  const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | (normal << 52);
  const int exponent = biased + static_cast<int>(1 - normal) - 1075 + scale.exponent;
  const arith::uint128 product = static_cast<arith::uint128>(mantissa) * scale.mantissa;
  // Right by s in [0, 127] where the exponent is negative; beyond 127 the result is 0 as for 127.
  const int sign = exponent >> 31;
  const int distance = -(exponent & sign);
  const int excess = distance - 127;
  const int s = distance - (excess & ~(excess >> 31));
  const arith::uint128 whole = product >> s;
  const arith::uint128 rest_mask = (static_cast<arith::uint128>(1) << s) - 1;
  // Half below the point, and up if the whole part is odd; for s = 0 the mask leaves nothing.
  const arith::uint128 half = rest_mask >> 1;
  const auto odd = static_cast<arith::uint128>(static_cast<std::uint64_t>(whole) & 1);
  const arith::uint128 up = ((product & rest_mask) + half + odd) >> s;
  const arith::uint128 rounded = whole + (up & static_cast<arith::uint128>(s != 0));
  return {static_cast<std::uint64_t>(rounded), static_cast<std::uint64_t>(rounded >> 64), exponent & ~sign,
          0 - (bits >> 63)};
}

/// Size of the digits that integers beyond one word are cut into.
inline constexpr int digit_bits = 62;

/// Digit `index` of the magnitude, with the sign; constant-time in the value.
inline std::int64_t digit_of(const ScaledInteger& value, std::size_t index) {
  const int distance = digit_bits * static_cast<int>(index) - value.shift;  // to the right
  const auto wide = (static_cast<arith::uint128>(value.high) << 64) | value.low;
  const auto right = static_cast<std::uint64_t>(wide >> (distance & 127));
  const std::uint64_t left = value.low << (-distance & 63);
  const std::uint64_t take_right = 0 - static_cast<std::uint64_t>((distance >= 0) & (distance < 128));
  const std::uint64_t take_left = 0 - static_cast<std::uint64_t>((distance < 0) & (distance > -64));
  const std::uint64_t digit =
      ((right & take_right) | (left & take_left)) & ((std::uint64_t{1} << digit_bits) - 1);
  return static_cast<std::int64_t>((digit ^ value.negative) - value.negative);
}

/// Whether values of up to magnitude_bits bits are smaller than q: then only negative ones change. Of
/// internal linkage, as it is compiled with several sets of machine flags.
static inline bool smaller_than_modulus(int magnitude_bits, std::uint64_t q) {
  return q > (std::uint64_t{1} << magnitude_bits);
}

void center_scalar(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
                   const Centering& c, std::uint64_t* scratch);
std::uint64_t largest_scalar(const double* values, std::size_t count);
void round_scaled_scalar(std::int64_t* out, const double* values, std::size_t count, const Scale& scale);
void reduce_scalar(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
                   const arith::Modulus& q);
/// Transforms of one value at a time, for fewer slots than a vector kernel's square.
const EmbeddingKernels& single_embedding_kernels();

}  // namespace hemera::poly::cpu
