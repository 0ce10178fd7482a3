// Eight 64-bit words at a time: names for the AVX-512 instructions that the kernels use.
//
// Everything here is static: an inline function with external linkage, compiled with AVX-512, could be the
// copy that the linker keeps for all processors.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined operands inside its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define HEMERA_VECTOR_FUNCTION [[gnu::always_inline]] static inline
/// The namespace of this set, for the loops of poly/cpu/vector.
#define HEMERA_INSTRUCTION_SET avx512

namespace hemera::poly::cpu::avx512 {

using Word = std::uint64_t;
using Vector = __m512i;

inline constexpr std::size_t lanes = 8;
/// Vectors that loops over words take at a time.
inline constexpr std::size_t unrolled_vectors = 1;

HEMERA_VECTOR_FUNCTION Vector load(const Word* p) { return _mm512_loadu_si512(p); }
HEMERA_VECTOR_FUNCTION void store(Word* p, Vector x) { _mm512_storeu_si512(p, x); }
/// Past the cache, for addresses that are multiples of 64; others see it after a fence.
HEMERA_VECTOR_FUNCTION void store_past_cache(Word* p, Vector x) {
  _mm512_stream_si512(reinterpret_cast<Vector*>(p), x);
}
HEMERA_VECTOR_FUNCTION Vector broadcast(Word a) { return _mm512_set1_epi64(static_cast<long long>(a)); }
HEMERA_VECTOR_FUNCTION Vector zero() { return _mm512_setzero_si512(); }

HEMERA_VECTOR_FUNCTION Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
HEMERA_VECTOR_FUNCTION Vector subtract(Vector a, Vector b) { return _mm512_sub_epi64(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_and(Vector a, Vector b) { return _mm512_and_si512(a, b); }
HEMERA_VECTOR_FUNCTION Vector bit_or(Vector a, Vector b) { return _mm512_or_si512(a, b); }
template <unsigned bits>
HEMERA_VECTOR_FUNCTION Vector shift_right(Vector a) {
  return _mm512_srli_epi64(a, bits);
}
template <unsigned bits>
HEMERA_VECTOR_FUNCTION Vector shift_left(Vector a) {
  return _mm512_slli_epi64(a, bits);
}
/// The same shift in all lanes.
HEMERA_VECTOR_FUNCTION Vector shift_left(Vector a, __m128i bits) { return _mm512_sll_epi64(a, bits); }
HEMERA_VECTOR_FUNCTION Vector shift_right(Vector a, __m128i bits) { return _mm512_srl_epi64(a, bits); }

/// For fractions in `bit` + 1 bits with a half added, whose two highest bits differ where the fraction is
/// below a quarter or above three quarters: `differences` of more of them, and whether one in any lane had
/// none.
HEMERA_VECTOR_FUNCTION Vector add_differences(Vector differences, Vector x) {
  return bit_and(differences, _mm512_xor_si512(x, shift_left<1>(x)));
}
template <unsigned bit>
HEMERA_VECTOR_FUNCTION bool one_is_alike(Vector differences) {
  return _mm512_test_epi64_mask(differences, broadcast(Word{1} << bit)) != 0xff;
}

/// Whether a lane is negative, as a signed word.
HEMERA_VECTOR_FUNCTION bool one_is_negative(Vector x) { return _mm512_movepi64_mask(x) != 0; }

/// Low words of the products.
HEMERA_VECTOR_FUNCTION Vector multiply_low(Vector a, Vector b) { return _mm512_mullo_epi64(a, b); }
/// Products of the low halves, and of the low halves as signed integers.
HEMERA_VECTOR_FUNCTION Vector multiply_halves(Vector a, Vector b) { return _mm512_mul_epu32(a, b); }
HEMERA_VECTOR_FUNCTION Vector multiply_signed_halves(Vector a, Vector b) { return _mm512_mul_epi32(a, b); }
HEMERA_VECTOR_FUNCTION Vector broadcast_half(std::int32_t a) { return _mm512_set1_epi32(a); }
/// sum + the low or high 52 bits of the 104-bit product of the low 52 bits of a and b.
HEMERA_VECTOR_FUNCTION Vector add_low52(Vector sum, Vector a, Vector b) {
  return _mm512_madd52lo_epu64(sum, a, b);
}
HEMERA_VECTOR_FUNCTION Vector add_high52(Vector sum, Vector a, Vector b) {
  return _mm512_madd52hi_epu64(sum, a, b);
}

/// Whether all lanes are below the bound, without signs: for assertions.
HEMERA_VECTOR_FUNCTION bool all_below(Vector x, Vector bound) {
  return _mm512_cmpge_epu64_mask(x, bound) == 0;
}

/// x + 1 where a < b, without signs, else x.
HEMERA_VECTOR_FUNCTION Vector add_if_below(Vector x, Vector a, Vector b) {
  return _mm512_mask_add_epi64(x, _mm512_cmplt_epu64_mask(a, b), x, _mm512_set1_epi64(1));
}

/// x in [0, 2 bound) to [0, bound). Also x in [-bound, bound) with bound added, if that is what is given.
HEMERA_VECTOR_FUNCTION Vector fold(Vector x, Vector bound) { return _mm512_min_epu64(x, subtract(x, bound)); }
/// x in [-bound, bound), modulo 2^64, to [0, bound).
HEMERA_VECTOR_FUNCTION Vector lift(Vector x, Vector bound) { return _mm512_min_epu64(x, add(x, bound)); }

}  // namespace hemera::poly::cpu::avx512
