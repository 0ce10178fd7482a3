// Modular arithmetic in double precision for moduli below 2^50.
#pragma once

#include "poly/cpu/neon/vectors.hpp"
#include "poly/cpu/vector/arithmetic50.hpp"

namespace hemera::poly::cpu::neon {

/// One of the factors of Factors50 for all lanes.
template <int lane>
struct Factor50 {
  Doubles operand;
  Doubles ratio;
};

template <int lane>
HEMERA_VECTOR_FUNCTION Doubles multiply50(Doubles a, const Factor50<lane>& w, Doubles q) {
  const Doubles high = vmulq_laneq_f64(a, w.operand, lane);
  const Doubles quotient = nearest(vmulq_laneq_f64(a, w.ratio, lane));
  const Doubles low = vfmsq_laneq_f64(high, a, w.operand, lane);
  return subtract(subtract_product(high, quotient, q), low);
}

/// An integer in [-q, q) to a word in [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical50(Doubles x, const Modulus50& q) {
  return lift(to_signed_words(x), q.word);
}

}  // namespace hemera::poly::cpu::neon
