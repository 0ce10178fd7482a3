// Modular arithmetic for moduli below 2^49: integers modulo 2^64, with quotients by double precision.
//
// WebAssembly has no high word of a product, which takes four products of half words, and no fused operation.
// With k next to y w / q, y w - k q is small, so its low words are all of it. (V. Shoup's NTL computes so.)
// A quotient is found by three operations rounded once each, of sizes below 2^50: it is off by less than
// 1/2 + 3 2^-53 2^50 = 7/8. Nothing here branches, and no double is subnormal.
#pragma once

#include <bit>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/simd128/vectors.hpp"

namespace hemera::poly::cpu::simd128 {

inline constexpr Word max_modulus_49 = Word{1} << 49;

/// An integer below 2^51 in size, added to it, is in the low bits of the sum.
inline constexpr double rounder = 0x1.8p52;

/// Signed words below 2^51 in size to doubles.
HEMERA_VECTOR_FUNCTION Vector to_doubles(Vector x) {
  return wasm_f64x2_sub(add(x, broadcast(std::bit_cast<Word>(rounder))), broadcast(rounder));
}
/// The nearest signed words of doubles below 2^51 in size.
HEMERA_VECTOR_FUNCTION Vector to_words(Vector x) {
  return subtract(wasm_f64x2_add(x, broadcast(rounder)), broadcast(std::bit_cast<Word>(rounder)));
}

struct Modulus49 {
  Vector q;
  Vector twice;
  Vector inverse;  // 1 / q, rounded

  HEMERA_VECTOR_FUNCTION Modulus49 make(const arith::Modulus& modulus) {
    return {broadcast(modulus.value()), broadcast(2 * modulus.value()),
            broadcast(1.0 / static_cast<double>(modulus.value()))};
  }
};

/// Factors w in [0, q), one for each lane, with w / q.
struct Factors49 {
  Vector operand;
  Vector ratio;

  HEMERA_VECTOR_FUNCTION Factors49 of(Vector w, const Modulus49& q) {
    return {w, wasm_f64x2_mul(to_doubles(w), q.inverse)};
  }
  /// The same factor in all lanes.
  HEMERA_VECTOR_FUNCTION Factors49 make(Word w, const Modulus49& q) { return of(broadcast(w), q); }
};

/// y w modulo q, in (-q, q); y below 2^50 in size.
HEMERA_VECTOR_FUNCTION Vector multiply49(Vector y, const Factors49& w, const Modulus49& q) {
  const Vector quotient = to_words(wasm_f64x2_mul(to_doubles(y), w.ratio));
  return subtract(multiply_low(y, w.operand), multiply_low(quotient, q.q));
}

/// a b modulo q, in (-q, q), of two residues.
HEMERA_VECTOR_FUNCTION Vector multiply49(Vector a, Vector b, const Modulus49& q) {
  const Vector product = wasm_f64x2_mul(to_doubles(a), to_doubles(b));
  return subtract(multiply_low(a, b), multiply_low(to_words(wasm_f64x2_mul(product, q.inverse)), q.q));
}

/// x below 2^51 in size to one congruent to it in [-3 q / 4, 3 q / 4].
HEMERA_VECTOR_FUNCTION Vector reduce49(Vector x, const Modulus49& q) {
  return subtract(x, multiply_low(to_words(wasm_f64x2_mul(to_doubles(x), q.inverse)), q.q));
}

/// x in [-2 q, 2 q] to one congruent to it in [-q, q].
HEMERA_VECTOR_FUNCTION Vector halve49(Vector x, const Modulus49& q) {
  return subtract(add(x, q.q), wasm_v128_and(q.twice, wasm_i64x2_gt(x, zero())));
}

/// x in [-2 q, 2 q) to [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical49(Vector x, const Modulus49& q) {
  return fold(lift(x, q.twice), q.q);
}

}  // namespace hemera::poly::cpu::simd128
