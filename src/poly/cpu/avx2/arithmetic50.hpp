// Modular arithmetic in double precision for moduli below 2^50.
//
// A product a w is h + l exactly, h = a w rounded and l = fma(a, w, -h). With k = a w / q rounded,
// (h - k q) + l = a w - k q without error, as long as it stays below 2^53: h - k q is one fused operation
// whose exact result is an integer below 2^53. (J. van der Hoeven, G. Lecerf, G. Quintin, "Modular SIMD
// arithmetic in Mathemagix", 2016, section 3.)
#pragma once

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/avx2/vectors.hpp"

namespace hemera::poly::cpu::avx2 {

struct Modulus50 {
  Doubles q;
  Doubles inverse;  // 1 / q, rounded
  Vector word;      // q

  HEMERA_VECTOR_FUNCTION Modulus50 make(const arith::Modulus& modulus) {
    const double q = static_cast<double>(static_cast<std::int64_t>(modulus.value()));
    return {broadcast(q), broadcast(1.0 / q), broadcast(modulus.value())};
  }
};

/// A factor w in [0, q) with w / q, either rounded once or the rounded product of w and 1 / q.
struct Factor50 {
  Doubles operand;
  Doubles ratio;

  HEMERA_VECTOR_FUNCTION Factor50 make(Word w, const Modulus50& q) {
    const Doubles operand = broadcast(static_cast<double>(static_cast<std::int64_t>(w)));
    return {operand, multiply(operand, q.inverse)};
  }
};

/// a w - k q for the integer k next to a w / q, but for errors of the ratio: an integer of magnitude at most
/// q (1/2 + |a| (w / q) 1.5 2^-52).
HEMERA_VECTOR_FUNCTION Doubles multiply50(Doubles a, const Factor50& w, Doubles q) {
  const Doubles high = multiply(a, w.operand);
  const Doubles quotient = nearest(multiply(a, w.ratio));
  const Doubles low = _mm256_fmsub_pd(a, w.operand, high);
  return add(_mm256_fnmadd_pd(quotient, q, high), low);
}

/// The same for two residues in [0, q): of magnitude below q.
HEMERA_VECTOR_FUNCTION Doubles multiply50(Doubles a, Doubles b, const Modulus50& q) {
  const Doubles high = multiply(a, b);
  const Doubles quotient = nearest(multiply(high, q.inverse));
  const Doubles low = _mm256_fmsub_pd(a, b, high);
  return add(_mm256_fnmadd_pd(quotient, q.q, high), low);
}

/// An integer of magnitude up to 2^53 to one congruent to it, of magnitude at most q (1/2 + 2^-47); never -0.
HEMERA_VECTOR_FUNCTION Doubles reduce50(Doubles x, const Modulus50& q) {
  return _mm256_fnmadd_pd(nearest(multiply(x, q.inverse)), q.q, x);
}

/// An integer in (-q, q) to a word in [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical50(Doubles x, const Modulus50& q) {
  const Doubles negative = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ);
  return to_words(add(x, _mm256_and_pd(negative, q.q)));
}

}  // namespace hemera::poly::cpu::avx2
