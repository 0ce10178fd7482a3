// Modular arithmetic with 32-bit pieces for moduli up to 61 bits.
#pragma once

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/avx512/vectors.hpp"

namespace hemera::poly::cpu::avx512 {

/// The high word of a * b, or up to 2 less; b_high = b >> 32.
HEMERA_VECTOR_FUNCTION Vector almost_multiply_high(Vector a, Vector b, Vector b_high) {
  const Vector a_high = shift_right<32>(a);
  const Vector cross =
      add(shift_right<32>(multiply_halves(a_high, b)), shift_right<32>(multiply_halves(a, b_high)));
  return add(multiply_halves(a_high, b_high), cross);
}

/// The two words of a * b.
HEMERA_VECTOR_FUNCTION void multiply_wide(Vector a, Vector b, Vector& high, Vector& low) {
  const Vector a_high = shift_right<32>(a);
  const Vector b_high = shift_right<32>(b);
  const Vector half_mask = broadcast(0xffffffff);
  const Vector first = add(multiply_halves(a_high, b), shift_right<32>(multiply_halves(a, b)));
  const Vector second = add(multiply_halves(a, b_high), bit_and(first, half_mask));
  high = add(multiply_halves(a_high, b_high), add(shift_right<32>(first), shift_right<32>(second)));
  low = multiply_low(a, b);
}

/// Constants of one modulus up to 61 bits.
struct Modulus64 {
  Vector q;
  Vector twice_q;
  Vector four_q;
  Vector ratio;                // floor(2^64 / q)
  Vector ratio_high;           // its upper half
  Vector radix;                // 2^64 mod q
  Vector radix_quotient;       // floor(radix * 2^64 / q)
  Vector radix_quotient_high;  // its upper half

  HEMERA_VECTOR_FUNCTION Modulus64 make(const arith::Modulus& modulus) {
    const Word q = modulus.value();
    const Word ratio = modulus.ratio_high();
    // floor(2^128 / q) = ratio * 2^64 + radix_quotient.
    return {broadcast(q),
            broadcast(2 * q),
            broadcast(4 * q),
            broadcast(ratio),
            broadcast(ratio >> 32),
            broadcast(Word{0} - ratio * q),
            broadcast(modulus.ratio_low()),
            broadcast(modulus.ratio_low() >> 32)};
  }
};

/// A constant factor w with floor(w * 2^64 / q).
struct Factor64 {
  Vector operand;
  Vector quotient;
  Vector quotient_high;

  HEMERA_VECTOR_FUNCTION Factor64 make(const arith::ShoupFactor& factor) {
    return {broadcast(factor.operand), broadcast(factor.quotient), broadcast(factor.quotient >> 32)};
  }
};

/// a * w mod q in [0, 4q) for any word a.
HEMERA_VECTOR_FUNCTION Vector multiply64_lazy(Vector a, const Factor64& w, Vector q) {
  const Vector quotient = almost_multiply_high(a, w.quotient, w.quotient_high);
  return subtract(multiply_low(a, w.operand), multiply_low(quotient, q));
}

/// [0, 4q) to [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical64(Vector x, const Modulus64& q) {
  return fold(fold(x, q.twice_q), q.q);
}

/// high * 2^64 + low mod q, canonical, for any words.
HEMERA_VECTOR_FUNCTION Vector reduce_wide64(Vector high, Vector low, const Modulus64& q) {
  const Factor64 radix{q.radix, q.radix_quotient, q.radix_quotient_high};
  const Vector upper = multiply64_lazy(high, radix, q.q);  // [0, 4q)
  const Vector quotient = almost_multiply_high(low, q.ratio, q.ratio_high);
  const Vector lower = subtract(low, multiply_low(quotient, q.q));  // [0, 4q)
  return canonical64(fold(add(upper, lower), q.four_q), q);         // the sum is below 8q < 2^64
}

}  // namespace hemera::poly::cpu::avx512
