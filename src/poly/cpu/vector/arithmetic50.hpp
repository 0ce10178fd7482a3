// Modular arithmetic in double precision for moduli below 2^50; `canonical50` is each instruction set's own.
//
// A product a w is h - l exactly, h = a w rounded and l = h - a w by one fused operation. With k = a w / q
// rounded, (h - k q) - l = a w - k q without error, as long as it stays below 2^53: h - k q is one fused
// operation whose exact result is an integer below 2^53. (J. van der Hoeven, G. Lecerf, G. Quintin, "Modular
// SIMD arithmetic in Mathemagix", 2016, section 3.) Why not integers on AArch64: docs/decisions/neon.md.
#pragma once

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {

struct Modulus50 {
  Doubles q;
  Doubles inverse;  // 1 / q, rounded
  Vector word;      // q

  HEMERA_VECTOR_FUNCTION Modulus50 make(const arith::Modulus& modulus) {
    const double q = static_cast<double>(static_cast<std::int64_t>(modulus.value()));
    return {broadcast(q), broadcast(1.0 / q), broadcast(modulus.value())};
  }
};

/// Factors w in (-q, q), one for each lane, with w / q, either rounded once or the rounded product of w and
/// 1 / q.
struct Factors50 {
  Doubles operand;
  Doubles ratio;

  HEMERA_VECTOR_FUNCTION Factors50 of(Doubles w, const Modulus50& q) { return {w, multiply(w, q.inverse)}; }
  /// The same factor in all lanes.
  HEMERA_VECTOR_FUNCTION Factors50 make(Word w, const Modulus50& q) {
    return of(broadcast(static_cast<double>(static_cast<std::int64_t>(w))), q);
  }
};

/// a w - k q for the integer k next to a w / q, but for errors of the ratio: an integer of magnitude at most
/// q (1/2 + |a| (w / q) 1.5 2^-52).
HEMERA_VECTOR_FUNCTION Doubles multiply50(Doubles a, const Factors50& w, Doubles q) {
  const Doubles high = multiply(a, w.operand);
  const Doubles quotient = nearest(multiply(a, w.ratio));
  const Doubles low = subtract_product(high, a, w.operand);
  return subtract(subtract_product(high, quotient, q), low);
}

/// The same for two residues in [0, q): of magnitude below q.
HEMERA_VECTOR_FUNCTION Doubles multiply50(Doubles a, Doubles b, const Modulus50& q) {
  const Doubles high = multiply(a, b);
  const Doubles quotient = nearest(multiply(high, q.inverse));
  const Doubles low = subtract_product(high, a, b);
  return subtract(subtract_product(high, quotient, q.q), low);
}

/// An integer of magnitude up to 2^53 to one congruent to it, of magnitude at most q (1/2 + 2^-47); never -0.
HEMERA_VECTOR_FUNCTION Doubles reduce50(Doubles x, const Modulus50& q) {
  return subtract_product(x, nearest(multiply(x, q.inverse)), q.q);
}

/// Whether no lane is larger than `multiple` times q in size: for assertions.
HEMERA_VECTOR_FUNCTION bool all_within(Doubles x, double multiple, const Modulus50& q) {
  return all_within(x, multiple * first(q.q));
}

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
