// The butterflies of forward transforms for moduli below 2^50, with 52-bit multiplies.
//
// Lazy butterflies after D. Harvey, "Faster arithmetic for number-theoretic transforms" (2014), section 3,
// with these differences:
//  - The quotient of y w is floor(y w' / 2^52) + 1 with w' = floor(w 2^52 / q), so that t = y w - quotient q
//    is in [-q, q): it comes out of the multiplies' own additions, and neither x + t nor x - t needs a
//    correction. Both ends of the range of values grow by q a stage.
//  - Values are modulo 2^52 (see arithmetic52.hpp), so no masks are needed.
//  - Now and then a stage first brings x into [S q, S q + q + 2^49), S the number of stages until it is done
//    again, by a table of multiples of q that is indexed with the upper three of the 52 bits.
// With h = 52 - (bits of q), values stay in [0, 2^52): q + 2^49 + 2 S q <= 2^52, and q + 2 S0 q <= 2^52 for
// the S0 stages before the first reduction, to which S0 q is added at the start.
#pragma once

#include <cassert>

#include "poly/cpu/avx512/transform52.hpp"

namespace hemera::poly::cpu::avx512::forward52 {

// S0 and S, from 1 + 2 S0 <= 2^h and 1 + 2^(h-3) + 2 S <= 2^h.
constexpr int free_stages(int headroom) { return ((1 << headroom) - 1) / 2; }
constexpr int period(int headroom) { return (7 * (1 << headroom) - 8) / 16; }

constexpr bool reduces(int headroom, int stage) {
  const int first = free_stages(headroom);
  return stage >= first && (stage - first) % period(headroom) == 0;
}

// Bit s: stage first + s begins with a reduction.
constexpr unsigned reductions(int headroom, int first, int stages) {
  unsigned flags = 0;
  for (int s = 0; s < stages; ++s) flags |= (reduces(headroom, first + s) ? 1U : 0U) << s;
  return flags;
}

struct Constants {
  Vector q;
  Vector negative_q;
  Vector ratio;
  Vector mask;
  Vector one;
  Vector start;      // S0 q
  Vector multiples;  // floor(i 2^49 / q) q - S q

  template <int headroom>
  [[gnu::always_inline]] static inline Constants make(const arith::Modulus& modulus) {
    const Word q = modulus.value();
    const Modulus52 base = Modulus52::make(modulus);
    alignas(64) Word multiples[8];
    const Word ratio49 = modulus.ratio_high() >> 15;  // floor(2^49 / q)
    const Word rest49 = (Word{1} << 49) - ratio49 * q;
    Word multiple = 0;
    Word rest = 0;
    for (Word& entry : multiples) {
      entry = multiple - period(headroom) * q;
      multiple += ratio49 * q;
      rest += rest49;
      if (rest >= q) {
        rest -= q;
        multiple += q;
      }
    }
    return {base.q,         base.negative_q, base.ratio,
            base.mask,      broadcast(1),    broadcast(free_stages(headroom) * q),
            load(multiples)};
  }
};

enum class Kind { plain, first, reducing };

template <Kind kind>
[[gnu::always_inline]] inline void butterfly(Vector& x, Vector& y, Vector w, Vector w_quotient,
                                             const Constants& c) {
  if constexpr (kind == Kind::first) x = add(x, c.start);
  if constexpr (kind == Kind::reducing) {
    x = subtract(x, _mm512_permutexvar_epi64(shift_right<49>(x), c.multiples));
  }
  const Vector quotient = add_high52(c.one, y, w_quotient);
  const Vector sum = add_low52(add_low52(x, y, w), quotient, c.negative_q);
  // t = sum - x is in [-q, q), modulo 2^52.
  assert(all_below(bit_and(add(subtract(sum, x), c.q), c.mask), add(c.q, c.q)));
  y = subtract(add(x, x), sum);
  x = sum;
}

template <bool first, unsigned flags>
constexpr Kind kind_of(int stage) {
  if (first && stage == 0) return Kind::first;
  return (flags >> stage & 1U) != 0 ? Kind::reducing : Kind::plain;
}

// `stages` stages on 2^stages vectors; `block`: 2^level + block of the first one.
template <int stages, unsigned flags, bool first, int stage = 0>
[[gnu::always_inline]] inline void butterflies(Vector* v, const Twiddles52& twiddles, std::size_t block,
                                               const Constants& c) {
  if constexpr (stage < stages) {
    constexpr std::size_t half = (std::size_t{1} << stages) >> (stage + 1);
#pragma GCC unroll 16
    for (std::size_t group = 0; group < (std::size_t{1} << stage); ++group) {
      const std::size_t index = (block << stage) + group;
      const Vector w = broadcast(twiddles.powers[index]);
      const Vector w_quotient = broadcast(twiddles.quotients[index]);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < half; ++i) {
        const std::size_t at = group * 2 * half + i;
        butterfly<kind_of<first, flags>(stage)>(v[at], v[at + half], w, w_quotient, c);
      }
    }
    butterflies<stages, flags, first, stage + 1>(v, twiddles, block, c);
  }
}

// Any value to [0, q).
[[gnu::always_inline]] inline Vector canonical(Vector x, const Constants& c) {
  const Vector quotient = add_high52(zero(), x, c.ratio);  // at most one too small
  return fold(bit_and(add_low52(x, quotient, c.negative_q), c.mask), c.q);
}

}  // namespace hemera::poly::cpu::avx512::forward52
