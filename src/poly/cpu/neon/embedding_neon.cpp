// The embedding kernels for Advanced SIMD. The transform of the scalar table works on pairs of doubles
// already; decoding's sums of word products are left to it as well.
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_scalar.hpp"

namespace hemera::poly::cpu {
namespace {

constexpr std::size_t lanes = 2;

// As for AVX-512: p + e = value * scale exactly, the fused operation serves only to find e.
void round_scaled(std::int64_t* out, const double* values, std::size_t count, const Scale& scale) {
  const float64x2_t factor = vdupq_n_f64(scale.value);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const float64x2_t value = vld1q_f64(values + i);
    const float64x2_t product = vmulq_f64(value, factor);
    const float64x2_t error = vfmaq_f64(vnegq_f64(product), value, factor);
    const float64x2_t rounded = vrndnq_f64(product);
    const float64x2_t rest = vsubq_f64(product, rounded);
    int64x2_t integer = vaddq_s64(vcvtq_s64_f64(rounded), vcvtnq_s64_f64(error));
    const uint64x2_t tie = vceqq_f64(vabsq_f64(rest), vdupq_n_f64(0.5));
    const uint64x2_t up = vandq_u64(tie, vcgtzq_f64(vminq_f64(rest, error)));
    const uint64x2_t down = vandq_u64(tie, vcltzq_f64(vmaxq_f64(rest, error)));
    integer = vsubq_s64(integer, vreinterpretq_s64_u64(up));  // a mask is -1
    integer = vaddq_s64(integer, vreinterpretq_s64_u64(down));
    vst1q_s64(out + i, integer);
  }
  round_scaled_scalar(out + i, values + i, count - i, scale);
}

// For values and moduli up to 2^50 all is exact in doubles: the quotient is less than 1 off, the remainder
// lies in (-q, q) and comes from one fused operation.
void reduce(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
            const arith::Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  if (smaller_than_modulus(magnitude_bits, q) || magnitude_bits > 50 || q > (std::uint64_t{1} << 50) ||
      q < 16) {
    return reduce_scalar(out, values, count, magnitude_bits, modulus);
  }
  const float64x2_t q_double = vdupq_n_f64(static_cast<double>(q));
  const float64x2_t inverse = vdupq_n_f64(1.0 / static_cast<double>(q));
  const uint64x2_t word = vdupq_n_u64(q);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const float64x2_t value = vcvtq_f64_s64(vld1q_s64(values + i));
    const float64x2_t quotient = vrndnq_f64(vmulq_f64(value, inverse));
    const int64x2_t remainder = vcvtq_s64_f64(vfmsq_f64(value, quotient, q_double));
    const uint64x2_t negative = vcltzq_s64(remainder);
    vst1q_u64(out + i, vaddq_u64(vreinterpretq_u64_s64(remainder), vandq_u64(negative, word)));
  }
  reduce_scalar(out + i, values + i, count - i, magnitude_bits, modulus);
}

}  // namespace

const EmbeddingKernels& neon_embedding_kernels() {
  static const EmbeddingKernels kernels = [] {
    EmbeddingKernels table = scalar_embedding_kernels();
    table.name = "neon";
    table.round_scaled = round_scaled;
    table.reduce = reduce;
    return table;
  }();
  return kernels;
}

}  // namespace hemera::poly::cpu
