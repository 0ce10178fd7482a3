// Modular arithmetic in double precision for moduli below 2^50.
#pragma once

#include "poly/cpu/avx2/vectors.hpp"
#include "poly/cpu/vector/arithmetic50.hpp"

namespace hemera::poly::cpu::avx2 {

/// An integer in (-q, q) to a word in [0, q).
HEMERA_VECTOR_FUNCTION Vector canonical50(Doubles x, const Modulus50& q) {
  const Doubles negative = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ);
  return to_words(add(x, _mm256_and_pd(negative, q.q)));
}

}  // namespace hemera::poly::cpu::avx2
