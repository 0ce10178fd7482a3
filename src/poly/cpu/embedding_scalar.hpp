// Parts of the scalar embedding kernels that other kernels and the wide path of the encoder use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/embedding_kernels.hpp"

namespace hemera::poly::cpu {

/// Size of the digits that integers beyond one word are cut into.
inline constexpr int digit_bits = 62;

/// Digit `index` of the magnitude, with the sign; constant-time in the value.
inline std::int64_t digit_of(const ScaledInteger& value, std::size_t index) {
  const std::uint64_t digit =
      bits_from(value, digit_bits * static_cast<int>(index)) & ((std::uint64_t{1} << digit_bits) - 1);
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
