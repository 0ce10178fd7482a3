// The common part of the forward and the inverse transform in double precision.
//
// Between stages the words of the array hold doubles: integers, signed, of magnitude up to 2^53.
#pragma once

#include <cassert>

#include "poly/cpu/butterflies.hpp"
#include "poly/cpu/limb_tables.hpp"
#include "poly/cpu/neon/arithmetic50.hpp"
#include "poly/cpu/sweeps50.hpp"

namespace hemera::poly::cpu::neon {

HEMERA_VECTOR_FUNCTION Doubles load_doubles(const Word* p) { return vreinterpretq_f64_u64(load(p)); }
HEMERA_VECTOR_FUNCTION void store_doubles(Word* p, Doubles x) { store(p, vreinterpretq_u64_f64(x)); }

/// Whether no lane is larger than `multiple` times q in size: for assertions.
HEMERA_VECTOR_FUNCTION bool all_within(Doubles x, double multiple, const Modulus50& q) {
  return all_within(x, multiple * vgetq_lane_f64(q.q, 0));
}

/// Vectors of the 32 words of the five stages that are done together.
inline constexpr std::size_t block_vectors = 16;

/// The twiddle factors w of the groups of `stages` stages of one block, centred, with their w / q. Factor
/// 2^stage + group belongs to a group, stage 0 is the one of the largest distance; two of them share a
/// vector, as multiplications take a factor from one lane.
template <int stages>
struct BlockFactors {
  Factors50 pairs[1 << (stages - 1)];

  /// Words w in [0, q) to [-q / 2, q / 2].
  HEMERA_VECTOR_FUNCTION Factors50 centered(Vector w, const Modulus50& q) {
    const Vector above_half = vcgtq_u64(w, vshrq_n_u64(q.word, 1));
    const Doubles residue = signed_to_doubles(subtract(w, bit_and(above_half, q.word)));
    assert(all_within(residue, 0.5, q));
    return Factors50::of(residue, q);
  }

  /// `block`: 2^level + block in the table.
  [[gnu::always_inline]] inline BlockFactors(const Word* powers, std::size_t block, const Modulus50& q) {
    pairs[0] = centered(broadcast(powers[block]), q);  // factor 1; there is no factor 0
#pragma GCC unroll 3
    for (int stage = 1; stage < stages; ++stage) {
#pragma GCC unroll 4
      for (int pair = 0; pair < 1 << (stage - 1); ++pair) {
        const Vector two = load(powers + (block << stage) + 2 * static_cast<std::size_t>(pair));
        pairs[(1 << (stage - 1)) + pair] = centered(two, q);
      }
    }
  }

  template <int number>
  [[gnu::always_inline]] inline Factor50<number % 2> get() const {
    return {pairs[number / 2].operand, pairs[number / 2].ratio};
  }
};

/// Two vectors as a matrix of two rows, transposed.
HEMERA_VECTOR_FUNCTION void transpose(Doubles& x, Doubles& y) {
  const Doubles first = vzip1q_f64(x, y);
  y = vzip2q_f64(x, y);
  x = first;
}

}  // namespace hemera::poly::cpu::neon
