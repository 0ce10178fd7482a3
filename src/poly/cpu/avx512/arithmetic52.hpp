// Modular arithmetic with the 52-bit multiply (AVX-512 IFMA) for moduli below 2^50.
//
// The multiply reads only the low 52 bits of its factors, so intermediate values may carry anything above
// them: such a value is "modulo 2^52". It stands for the integer in [0, 2^52) that its low bits are.
#pragma once

#include <cassert>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/avx512/vectors.hpp"

namespace hemera::poly::cpu::avx512 {

inline constexpr Word mask52 = (Word{1} << 52) - 1;

/// Constants of one modulus below 2^50 for sums of products.
struct Modulus52 {
  Vector q;
  Vector twice_q;
  Vector negative_q;      // 2^52 - q
  Vector ratio;           // floor(2^52 / q)
  Vector radix;           // 2^52 mod q
  Vector radix_quotient;  // floor(radix * 2^52 / q)
  Vector mask;

  HEMERA_VECTOR_FUNCTION Modulus52 make(const arith::Modulus& modulus) {
    const Word q = modulus.value();
    const Word ratio = modulus.ratio_high() >> 12;
    // floor(2^104 / q) = ratio * 2^52 + radix_quotient.
    const Word radix_quotient = ((modulus.ratio_high() << 40) | (modulus.ratio_low() >> 24)) & mask52;
    return {broadcast(q),
            broadcast(2 * q),
            broadcast((Word{1} << 52) - q),
            broadcast(ratio),
            broadcast((Word{1} << 52) - ratio * q),
            broadcast(radix_quotient),
            broadcast(mask52)};
  }
};

/// high * 2^52 + low mod q, canonical; high < 2^52, low any word with high + low / 2^52 < 2^52.
HEMERA_VECTOR_FUNCTION Vector reduce_sum52(Vector high, Vector low, const Modulus52& q) {
  high = add(high, shift_right<52>(low));
  assert(all_below(high, add(q.mask, broadcast(1))));
  Vector quotient = add_high52(zero(), high, q.radix_quotient);
  quotient = add_high52(quotient, low, q.ratio);
  // Each of the two quotients is less than two too small.
  Vector x = add_low52(low, high, q.radix);
  x = bit_and(add_low52(x, quotient, q.negative_q), q.mask);  // [0, 4q)
  return fold(fold(x, q.twice_q), q.q);
}

/// The same, but in [0, 4q).
HEMERA_VECTOR_FUNCTION Vector reduce_sum52_lazy(Vector high, Vector low, const Modulus52& q) {
  high = add(high, shift_right<52>(low));
  assert(all_below(high, add(q.mask, broadcast(1))));
  Vector quotient = add_high52(zero(), high, q.radix_quotient);
  quotient = add_high52(quotient, low, q.ratio);
  const Vector x = add_low52(low, high, q.radix);
  return bit_and(add_low52(x, quotient, q.negative_q), q.mask);
}

/// A constant factor w with floor(w * 2^52 / q).
struct Factor52 {
  Vector operand;
  Vector quotient;

  HEMERA_VECTOR_FUNCTION Factor52 make(const arith::ShoupFactor& factor) {
    return {broadcast(factor.operand), broadcast(factor.quotient >> 12)};
  }
};

/// a * w mod q in [0, 2q) for a < 2^52 (modulo 2^52); the result is clean.
HEMERA_VECTOR_FUNCTION Vector multiply52_lazy(Vector a, const Factor52& w, Vector negative_q, Vector mask) {
  const Vector quotient = add_high52(zero(), a, w.quotient);
  return bit_and(add_low52(add_low52(zero(), a, w.operand), quotient, negative_q), mask);
}

}  // namespace hemera::poly::cpu::avx512
