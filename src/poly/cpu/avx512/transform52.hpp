// What the forward and the inverse transform with 52-bit multiplies share.
#pragma once

#include "poly/cpu/avx512/arithmetic52.hpp"
#include "poly/cpu/limb_tables.hpp"

namespace hemera::poly::cpu::avx512 {

/// Twiddle factors with their 52-bit quotients; entry 2^level + block belongs to one block of a stage.
struct Twiddles52 {
  const Word* powers;
  const Word* quotients;
};

/// The same pointers, but unknown to the optimizer: what is read through them in a loop is read from the
/// cache each time (as the broadcast operand of a multiply) instead of being kept, and spilled, in registers.
HEMERA_VECTOR_FUNCTION Twiddles52 reloaded(Twiddles52 twiddles) {
  asm volatile("" : "+r"(twiddles.powers), "+r"(twiddles.quotients));
  return twiddles;
}

/// How many stages each sweep over the data does before the last six stages, which are done together on 64
/// words in registers. Later sweeps run on one block of the sweep before at a time, so that they find it in
/// the cache.
struct Sweeps {
  int count = 0;
  int stages[4] = {};
};

/// Sixteen rows at a distance of a page or more would fall on one set of the first-level cache: sweeps of
/// four stages come last.
constexpr Sweeps sweeps_of(int log_degree) {
  switch (log_degree) {
    case 10:
      return {1, {4}};
    case 11:
      return {2, {2, 3}};
    case 12:
      return {2, {3, 3}};
    case 13:
      return {2, {3, 4}};
    case 14:
      return {3, {3, 3, 2}};
    case 15:
      return {3, {3, 3, 3}};
    case 16:
      return {3, {3, 3, 4}};
    default:
      return {4, {3, 3, 3, 2}};
  }
}

/// 64 words as a matrix of eight rows, transposed.
HEMERA_VECTOR_FUNCTION void transpose(Vector* v) {
  Vector u[8];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 8; i += 2) {
    u[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
    u[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
  }
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 2; ++i) {
    // Rows i, i + 2, i + 4, i + 6: exchange blocks of two lanes.
    const Vector a = _mm512_shuffle_i64x2(u[i], u[i + 2], 0x88);
    const Vector b = _mm512_shuffle_i64x2(u[i], u[i + 2], 0xdd);
    const Vector c = _mm512_shuffle_i64x2(u[i + 4], u[i + 6], 0x88);
    const Vector d = _mm512_shuffle_i64x2(u[i + 4], u[i + 6], 0xdd);
    v[i] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[i + 4] = _mm512_shuffle_i64x2(a, c, 0xdd);
    v[i + 2] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[i + 6] = _mm512_shuffle_i64x2(b, d, 0xdd);
  }
}

}  // namespace hemera::poly::cpu::avx512
