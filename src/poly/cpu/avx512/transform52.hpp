// The common part of the forward and the inverse transform with 52-bit multiplies.
#pragma once

#include "poly/cpu/avx512/arithmetic52.hpp"
#include "poly/cpu/butterflies.hpp"
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
/// words in registers. After sweep `split` (0 is the first one) all that is left is done on one block of it
/// at a time, so that the block stays in the cache; -1: the whole array is small enough.
struct Sweeps {
  int count = 0;
  int stages[4] = {};
  int split = 0;
};

/// Sixteen rows at a distance of a page or more would fall on one set of the first-level cache: sweeps of
/// four stages come last.
constexpr Sweeps sweeps_of(int log_degree) {
  switch (log_degree) {
    case 10:
      return {1, {4}, -1};
    case 11:
      return {2, {2, 3}, -1};
    case 12:
      return {2, {3, 3}, -1};
    case 13:
      return {2, {3, 4}, -1};
    case 14:
      return {3, {3, 3, 2}, -1};
    case 15:
      return {3, {3, 3, 3}, 0};
    case 16:
      return {3, {3, 3, 4}, 0};
    default:
      return {4, {3, 3, 3, 2}, 0};
  }
}

/// Step k of the twelve that transpose 64 words, a matrix of eight rows. Done one by one between butterflies,
/// they keep the shuffle units busy while the multipliers are.
template <int k>
[[gnu::always_inline]] inline void transpose_step(Vector* v) {
  constexpr int rows[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {4, 6},
                               {1, 3}, {5, 7}, {0, 4}, {2, 6}, {1, 5}, {3, 7}};
  Vector& a = v[rows[k][0]];
  Vector& b = v[rows[k][1]];
  const Vector first = a;
  if constexpr (k < 4) {
    a = _mm512_unpacklo_epi64(first, b);
    b = _mm512_unpackhi_epi64(first, b);
  } else {
    a = _mm512_shuffle_i64x2(first, b, 0x88);
    b = _mm512_shuffle_i64x2(first, b, 0xdd);
  }
}

[[gnu::always_inline]] inline void transpose(Vector* v) {
  unrolled<12>([&](auto k) __attribute__((always_inline)) { transpose_step<k.value>(v); });
}

[[gnu::always_inline]] inline void load_block(Vector* v, const Word* p) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; ++i) v[i] = load(p + lanes * i);
}
[[gnu::always_inline]] inline void store_block(Word* p, const Vector* v) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; ++i) store(p + lanes * i, v[i]);
}

}  // namespace hemera::poly::cpu::avx512
