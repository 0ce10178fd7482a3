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

/// A constant factor w, and w' = floor(w * 2^64 / q) in two pieces, which `make` alone works out.
struct Factor64 {
  Vector operand;
  Vector quotient_top;   // floor(w' / 2^12)
  Vector quotient_rest;  // the low 12 bits of w', times 2^40; what lies above 52 bits is not read

  Factor64() = default;
  HEMERA_VECTOR_FUNCTION Factor64 make(Vector operand, Vector quotient) {
    return Factor64(operand, shift_right<12>(quotient), shift_left<40>(quotient));
  }
  HEMERA_VECTOR_FUNCTION Factor64 make(const arith::ShoupFactor& factor) {
    return make(broadcast(factor.operand), broadcast(factor.quotient));
  }

 private:
  [[gnu::always_inline]] inline Factor64(Vector w, Vector top, Vector rest)
      : operand(w), quotient_top(top), quotient_rest(rest) {}
};

/// Constants of one modulus up to 61 bits.
struct Modulus64 {
  Vector q;
  Vector twice_q;
  Vector four_q;
  Vector ratio;       // floor(2^64 / q)
  Vector ratio_high;  // its upper half
  Factor64 radix;     // 2^64 mod q

  HEMERA_VECTOR_FUNCTION Modulus64 make(const arith::Modulus& modulus) {
    const Word q = modulus.value();
    const Word ratio = modulus.ratio_high();
    // floor(2^128 / q) = ratio * 2^64 + radix_quotient.
    return {broadcast(q),
            broadcast(2 * q),
            broadcast(4 * q),
            broadcast(ratio),
            broadcast(ratio >> 32),
            Factor64::make(broadcast(Word{0} - ratio * q), broadcast(modulus.ratio_low()))};
  }
};

/// a * w mod q in [0, 4q) for any word a. With a = a1 2^52 + a0 and w' = t 2^12 + r the quotient is a1 t +
/// floor(a0 t / 2^52) + floor(a1 r / 2^12), at most three less than a w / q.
HEMERA_VECTOR_FUNCTION Vector multiply64_lazy(Vector a, const Factor64& w, Vector q) {
  const Vector a_top = shift_right<52>(a);
  const Vector upper = multiply_low(a_top, w.quotient_top);
  const Vector quotient = add_high52(add_high52(upper, a, w.quotient_top), a_top, w.quotient_rest);
  return subtract(multiply_low(a, w.operand), multiply_low(quotient, q));
}

/// [0, 4q) to [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical64(Vector x, const Modulus64& q) {
  return fold(fold(x, q.twice_q), q.q);
}

/// Any word mod q, for q >= 2^14, in [0, 3q): the quotient by the ratio is less than 1 + x / 2^64 + 2^12 / q
/// too small.
HEMERA_VECTOR_FUNCTION Vector reduce64_lazy(Vector x, const Modulus64& q) {
  const Vector quotient = add_high52(zero(), shift_right<12>(x), q.ratio);
  return subtract(x, multiply_low(quotient, q.q));
}

/// x mod q, canonical, for q >= 2^14 and x < 15 * 2^60 (3 * 2^62 below q = 2^16).
HEMERA_VECTOR_FUNCTION Vector reduce64(Vector x, const Modulus64& q) {
  return fold(reduce64_lazy(x, q), q.q);
}

/// The same for any word.
HEMERA_VECTOR_FUNCTION Vector reduce64_any(Vector x, const Modulus64& q) {
  return canonical64(reduce64_lazy(x, q), q);
}

/// high * 2^64 + low mod q, canonical, for any words.
HEMERA_VECTOR_FUNCTION Vector reduce_wide64(Vector high, Vector low, const Modulus64& q) {
  const Vector upper = multiply64_lazy(high, q.radix, q.q);  // [0, 4q)
  const Vector quotient = almost_multiply_high(low, q.ratio, q.ratio_high);
  const Vector lower = subtract(low, multiply_low(quotient, q.q));  // [0, 4q)
  return canonical64(fold(add(upper, lower), q.four_q), q);         // the sum is below 8q < 2^64
}

}  // namespace hemera::poly::cpu::avx512
