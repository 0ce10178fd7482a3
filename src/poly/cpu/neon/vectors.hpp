// Two 64-bit words or doubles at a time: names for the Advanced SIMD instructions that the kernels use.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#define HEMERA_VECTOR_FUNCTION [[gnu::always_inline]] static inline
/// The namespace of this set, for the loops of poly/cpu/vector.
#define HEMERA_INSTRUCTION_SET neon

namespace hemera::poly::cpu::neon {

using Word = std::uint64_t;
using Vector = uint64x2_t;
using Doubles = float64x2_t;

inline constexpr std::size_t lanes = 2;
/// Vectors that loops over words take at a time: their eight words divide every count.
inline constexpr std::size_t unrolled_vectors = 4;

HEMERA_VECTOR_FUNCTION Vector load(const Word* p) { return vld1q_u64(p); }
HEMERA_VECTOR_FUNCTION void store(Word* p, Vector x) { vst1q_u64(p, x); }
HEMERA_VECTOR_FUNCTION Vector broadcast(Word a) { return vdupq_n_u64(a); }
HEMERA_VECTOR_FUNCTION Doubles broadcast(double a) { return vdupq_n_f64(a); }
HEMERA_VECTOR_FUNCTION Vector zero() { return vdupq_n_u64(0); }

HEMERA_VECTOR_FUNCTION Vector add(Vector a, Vector b) { return vaddq_u64(a, b); }
HEMERA_VECTOR_FUNCTION Vector subtract(Vector a, Vector b) { return vsubq_u64(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_and(Vector a, Vector b) { return vandq_u64(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_or(Vector a, Vector b) { return vorrq_u64(a, b); }

/// All ones where x is negative, as a signed word.
HEMERA_VECTOR_FUNCTION Vector sign_mask(Vector x) { return vcltzq_s64(vreinterpretq_s64_u64(x)); }
/// Whether a lane is negative, as a signed word.
HEMERA_VECTOR_FUNCTION bool one_is_negative(Vector x) {
  return (vgetq_lane_u64(x, 0) | vgetq_lane_u64(x, 1)) >> 63 != 0;
}

/// x in [-bound, bound), as a signed word, to [0, bound); bound < 2^63.
HEMERA_VECTOR_FUNCTION Vector lift(Vector x, Vector bound) { return add(x, bit_and(sign_mask(x), bound)); }
/// x in [0, 2 bound) to [0, bound); bound < 2^63.
HEMERA_VECTOR_FUNCTION Vector fold(Vector x, Vector bound) {
  return subtract(x, bit_and(vcgeq_u64(x, bound), bound));
}

HEMERA_VECTOR_FUNCTION Doubles add(Doubles a, Doubles b) { return vaddq_f64(a, b); }
HEMERA_VECTOR_FUNCTION Doubles subtract(Doubles a, Doubles b) { return vsubq_f64(a, b); }
HEMERA_VECTOR_FUNCTION Doubles multiply(Doubles a, Doubles b) { return vmulq_f64(a, b); }
/// c - a b, rounded once.
HEMERA_VECTOR_FUNCTION Doubles subtract_product(Doubles c, Doubles a, Doubles b) {
  return vfmsq_f64(c, a, b);
}
HEMERA_VECTOR_FUNCTION Doubles nearest(Doubles a) { return vrndnq_f64(a); }

/// Whether no lane is larger in size: for assertions.
HEMERA_VECTOR_FUNCTION bool all_within(Doubles x, double bound) { return vmaxvq_f64(vabsq_f64(x)) <= bound; }

/// The first lane.
HEMERA_VECTOR_FUNCTION double first(Doubles x) { return vgetq_lane_f64(x, 0); }

/// Words up to 2^53 to doubles.
HEMERA_VECTOR_FUNCTION Doubles to_doubles(Vector x) { return vcvtq_f64_u64(x); }
/// Signed words up to 2^53 in size to doubles and back.
HEMERA_VECTOR_FUNCTION Doubles signed_to_doubles(Vector x) { return vcvtq_f64_s64(vreinterpretq_s64_u64(x)); }
HEMERA_VECTOR_FUNCTION Vector to_signed_words(Doubles x) { return vreinterpretq_u64_s64(vcvtq_s64_f64(x)); }

}  // namespace hemera::poly::cpu::neon
