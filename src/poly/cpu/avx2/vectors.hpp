// Four 64-bit words or doubles at a time: names for the AVX2 and FMA instructions that the kernels use.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define HEMERA_VECTOR_FUNCTION [[gnu::always_inline]] static inline
/// The namespace of this set, for the loops of poly/cpu/vector.
#define HEMERA_INSTRUCTION_SET avx2

namespace hemera::poly::cpu::avx2 {

using Word = std::uint64_t;
using Vector = __m256i;
using Doubles = __m256d;

inline constexpr std::size_t lanes = 4;
/// Vectors that loops over words take at a time.
inline constexpr std::size_t unrolled_vectors = 1;

HEMERA_VECTOR_FUNCTION Vector load(const Word* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
HEMERA_VECTOR_FUNCTION void store(Word* p, Vector x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
}
HEMERA_VECTOR_FUNCTION Vector broadcast(Word a) { return _mm256_set1_epi64x(static_cast<long long>(a)); }
HEMERA_VECTOR_FUNCTION Doubles broadcast(double a) { return _mm256_set1_pd(a); }
HEMERA_VECTOR_FUNCTION Vector zero() { return _mm256_setzero_si256(); }

HEMERA_VECTOR_FUNCTION Vector add(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
HEMERA_VECTOR_FUNCTION Vector subtract(Vector a, Vector b) { return _mm256_sub_epi64(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_and(Vector a, Vector b) { return _mm256_and_si256(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_or(Vector a, Vector b) { return _mm256_or_si256(a, b); }
template <int bits>
HEMERA_VECTOR_FUNCTION Vector shift_right(Vector a) {
  return _mm256_srli_epi64(a, bits);
}
template <int bits>
HEMERA_VECTOR_FUNCTION Vector shift_left(Vector a) {
  return _mm256_slli_epi64(a, bits);
}
/// The same shift in all lanes.
HEMERA_VECTOR_FUNCTION Vector shift_left(Vector a, __m128i bits) { return _mm256_sll_epi64(a, bits); }
HEMERA_VECTOR_FUNCTION Vector shift_right(Vector a, __m128i bits) { return _mm256_srl_epi64(a, bits); }
/// Products of the low halves, and of the low halves as signed integers.
HEMERA_VECTOR_FUNCTION Vector multiply_halves(Vector a, Vector b) { return _mm256_mul_epu32(a, b); }
HEMERA_VECTOR_FUNCTION Vector multiply_signed_halves(Vector a, Vector b) { return _mm256_mul_epi32(a, b); }
/// The two words of a * b.
HEMERA_VECTOR_FUNCTION void multiply_wide(Vector a, Vector b, Vector& high, Vector& low) {
  const Vector half = broadcast(Word{0xffffffff});
  const Vector a_high = shift_right<32>(a);
  const Vector b_high = shift_right<32>(b);
  const Vector bottom = multiply_halves(a, b);
  const Vector second = add(multiply_halves(a_high, b), shift_right<32>(bottom));
  const Vector third = add(multiply_halves(a, b_high), bit_and(second, half));
  high = add(multiply_halves(a_high, b_high), add(shift_right<32>(second), shift_right<32>(third)));
  low = add(bit_and(bottom, half), shift_left<32>(third));
}
HEMERA_VECTOR_FUNCTION Vector broadcast_half(std::int32_t a) { return _mm256_set1_epi32(a); }

/// For fractions in `bit` + 1 bits with a half added, whose two highest bits differ where the fraction is
/// below a quarter or above three quarters: `differences` of more of them, and whether one in any lane had
/// none.
HEMERA_VECTOR_FUNCTION Vector add_differences(Vector differences, Vector x) {
  return bit_and(differences, _mm256_xor_si256(x, shift_left<1>(x)));
}
template <int bit>
HEMERA_VECTOR_FUNCTION bool one_is_alike(Vector differences) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(shift_left<63 - bit>(differences))) != 15;
}

/// Whether a lane is negative, as a signed word.
HEMERA_VECTOR_FUNCTION bool one_is_negative(Vector x) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(x)) != 0;
}

/// x in [-bound, bound), as a signed word, to [0, bound); bound < 2^62.
HEMERA_VECTOR_FUNCTION Vector lift(Vector x, Vector bound) {
  return add(x, bit_and(_mm256_cmpgt_epi64(zero(), x), bound));
}
/// x in [0, 2 bound) to [0, bound); bound < 2^62.
HEMERA_VECTOR_FUNCTION Vector fold(Vector x, Vector bound) { return lift(subtract(x, bound), bound); }

HEMERA_VECTOR_FUNCTION Doubles add(Doubles a, Doubles b) { return _mm256_add_pd(a, b); }
HEMERA_VECTOR_FUNCTION Doubles subtract(Doubles a, Doubles b) { return _mm256_sub_pd(a, b); }
HEMERA_VECTOR_FUNCTION Doubles multiply(Doubles a, Doubles b) { return _mm256_mul_pd(a, b); }
/// c - a b, rounded once.
HEMERA_VECTOR_FUNCTION Doubles subtract_product(Doubles c, Doubles a, Doubles b) {
  return _mm256_fnmadd_pd(a, b, c);
}
HEMERA_VECTOR_FUNCTION Doubles nearest(Doubles a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// Whether no lane is larger in size: for assertions.
HEMERA_VECTOR_FUNCTION bool all_within(Doubles x, double bound) {
  const Doubles size = _mm256_andnot_pd(broadcast(-0.0), x);
  return _mm256_movemask_pd(_mm256_cmp_pd(size, broadcast(bound), _CMP_GT_OQ)) == 0;
}

/// The first lane.
HEMERA_VECTOR_FUNCTION double first(Doubles x) { return _mm256_cvtsd_f64(x); }
HEMERA_VECTOR_FUNCTION Word first(Vector x) {
  return static_cast<Word>(_mm_cvtsi128_si64(_mm256_castsi256_si128(x)));
}

/// Signed words up to 2^51 in size to doubles, by the mantissa of 3 * 2^51 + x.
HEMERA_VECTOR_FUNCTION Doubles signed_to_doubles(Vector x) {
  const Doubles power = broadcast(0x1.8p52);
  return subtract(_mm256_castsi256_pd(add(x, _mm256_castpd_si256(power))), power);
}
/// Words below 2^52 to doubles and back, by the mantissa of 2^52 + x.
HEMERA_VECTOR_FUNCTION Doubles to_doubles(Vector x) {
  const Doubles power = broadcast(0x1p52);
  return subtract(_mm256_or_pd(_mm256_castsi256_pd(x), power), power);
}
HEMERA_VECTOR_FUNCTION Vector to_words(Doubles x) {
  const Doubles power = broadcast(0x1p52);
  return _mm256_castpd_si256(_mm256_xor_pd(add(x, power), power));
}

}  // namespace hemera::poly::cpu::avx2
