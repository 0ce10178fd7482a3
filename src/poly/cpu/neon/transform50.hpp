// The factors and transpositions of the transforms in double precision (poly/cpu/vector).
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

/// Vectors of the 32 words of the five stages that are done together, and the stages on whole vectors and in
/// them.
inline constexpr std::size_t block_vectors = 16;
inline constexpr int vector_stages = 4;
inline constexpr int log_lanes = 1;

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
HEMERA_VECTOR_FUNCTION void transpose(Doubles* v) {
  const Doubles row = vzip1q_f64(v[0], v[1]);
  v[1] = vzip2q_f64(v[0], v[1]);
  v[0] = row;
}

/// Twiddle factors of the last stage on two transposed vectors, numbered as those of BlockFactors: lane l is
/// for row l, that is entry row + l.
struct LaneFactors {
  Factors50 factors;

  [[gnu::always_inline]] inline LaneFactors(const Word* powers, std::size_t row, const Modulus50& q)
      : factors(Factors50::of(to_doubles(load(powers + row)), q)) {}

  template <int number>
  [[gnu::always_inline]] inline const Factors50& get() const {
    static_assert(number == 1);
    return factors;
  }
};

}  // namespace hemera::poly::cpu::neon
