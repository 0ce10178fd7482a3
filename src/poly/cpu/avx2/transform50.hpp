// The factors and transpositions of the transforms in double precision (poly/cpu/vector).
//
// Between stages the words of the array hold doubles: integers, signed, of magnitude up to 2^53.
#pragma once

#include "poly/cpu/avx2/arithmetic50.hpp"
#include "poly/cpu/butterflies.hpp"
#include "poly/cpu/limb_tables.hpp"
#include "poly/cpu/sweeps50.hpp"

namespace hemera::poly::cpu::avx2 {

HEMERA_VECTOR_FUNCTION Doubles load_doubles(const Word* p) { return _mm256_castsi256_pd(load(p)); }
HEMERA_VECTOR_FUNCTION void store_doubles(Word* p, Doubles x) { store(p, _mm256_castpd_si256(x)); }

/// Vectors of the 32 words of the five stages that are done together, and the stages on whole vectors and in
/// them.
inline constexpr std::size_t block_vectors = 8;
inline constexpr int vector_stages = 3;
inline constexpr int log_lanes = 2;

/// The twiddle factors w of the groups of `stages` stages of one block, centred, with their w / q. Factor
/// 2^stage + group belongs to a group; stage 0 is the one of the largest distance.
template <int stages>
struct BlockFactors {
  double operand[1 << stages];
  double ratio[1 << stages];

  /// `block`: 2^level + block in the table.
  [[gnu::always_inline]] inline BlockFactors(const Word* powers, std::size_t block,
                                             const Modulus50& modulus) {
    const Word q = first(modulus.word);
    const double inverse = first(modulus.inverse);
    for (int stage = 0; stage < stages; ++stage) {
      for (int group = 0; group < 1 << stage; ++group) {
        const Word w = powers[(block << stage) + static_cast<std::size_t>(group)];
        const auto centered = static_cast<std::int64_t>(w) - static_cast<std::int64_t>(w > q / 2 ? q : 0);
        operand[(1 << stage) + group] = static_cast<double>(centered);
        ratio[(1 << stage) + group] = static_cast<double>(centered) * inverse;
      }
    }
  }

  template <int number>
  [[gnu::always_inline]] inline Factors50 get() const {
    return {_mm256_broadcast_sd(operand + number), _mm256_broadcast_sd(ratio + number)};
  }
};

/// Four vectors as a matrix of four rows, transposed.
HEMERA_VECTOR_FUNCTION void transpose(Doubles* v) {
  const Doubles a = _mm256_unpacklo_pd(v[0], v[1]);
  const Doubles b = _mm256_unpackhi_pd(v[0], v[1]);
  const Doubles c = _mm256_unpacklo_pd(v[2], v[3]);
  const Doubles d = _mm256_unpackhi_pd(v[2], v[3]);
  v[0] = _mm256_permute2f128_pd(a, c, 0x20);
  v[1] = _mm256_permute2f128_pd(b, d, 0x20);
  v[2] = _mm256_permute2f128_pd(a, c, 0x31);
  v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

/// Twiddle factors of the last two stages on a transposed block of 16 words, numbered as those of
/// BlockFactors: lane l is for its row l, that is entry row + l of the stage of distance 2, and entries
/// 2 (row + l) and 2 (row + l) + 1 of the stage of distance 1.
struct LaneFactors {
  Factors50 factors[4];  // there is no factor 0

  [[gnu::always_inline]] inline LaneFactors(const Word* powers, std::size_t row, const Modulus50& q) {
    const Doubles low = to_doubles(load(powers + 2 * row));
    const Doubles high = to_doubles(load(powers + 2 * row + 4));
    const Doubles even = _mm256_permute2f128_pd(low, high, 0x20);  // 0 1 4 5
    const Doubles odd = _mm256_permute2f128_pd(low, high, 0x31);   // 2 3 6 7
    factors[1] = Factors50::of(to_doubles(load(powers + row)), q);
    factors[2] = Factors50::of(_mm256_unpacklo_pd(even, odd), q);
    factors[3] = Factors50::of(_mm256_unpackhi_pd(even, odd), q);
  }

  template <int number>
  [[gnu::always_inline]] inline const Factors50& get() const {
    return factors[number];
  }
};

}  // namespace hemera::poly::cpu::avx2
