// Residues of integers of magnitude below the modulus.
#pragma once

#include "poly/cpu/avx512/vectors.hpp"

namespace hemera::poly::cpu::avx512 {

/// Whether all values that were given lie in (-bound, bound), 0 < bound < 2^62; they may be any.
class WithinBound {
 public:
  [[gnu::always_inline]] inline explicit WithinBound(Word bound)
      : bound_(broadcast(bound)),
        shift_(broadcast(bound - 1)),
        most_(broadcast(2 * bound - 2)),
        largest_(zero()) {}

  [[gnu::always_inline]] inline void take(Vector x) {
    // bound - 1 more: without signs, a smaller one is larger than 2 bound - 2.
    largest_ = _mm512_max_epu64(largest_, add(x, shift_));
  }
  /// The values modulo the bound if they lie there.
  [[gnu::always_inline]] inline Vector residues(Vector x) {
    take(x);
    return lift(x, bound_);
  }
  [[nodiscard]] [[gnu::always_inline]] inline bool all_within() const {
    return _mm512_cmpgt_epu64_mask(largest_, most_) == 0;
  }

 private:
  Vector bound_, shift_, most_, largest_;
};

}  // namespace hemera::poly::cpu::avx512
