// The common part of the forward and the inverse transform in double precision.
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

/// The twiddle factors w of the groups of `stages` stages of one block, centred, with their w / q. Entry
/// 2^stage + group belongs to a group; stage 0 is the one of the largest distance.
template <int stages>
struct BlockFactors {
  double operand[1 << stages];
  double ratio[1 << stages];

  /// `block`: 2^level + block in the table.
  [[gnu::always_inline]] inline BlockFactors(const Word* powers, std::size_t block, Word q, double inverse) {
    for (int stage = 0; stage < stages; ++stage) {
      for (int group = 0; group < 1 << stage; ++group) {
        const Word w = powers[(block << stage) + static_cast<std::size_t>(group)];
        const auto centered = static_cast<std::int64_t>(w) - static_cast<std::int64_t>(w > q / 2 ? q : 0);
        operand[(1 << stage) + group] = static_cast<double>(centered);
        ratio[(1 << stage) + group] = static_cast<double>(centered) * inverse;
      }
    }
  }

  [[gnu::always_inline]] inline Factor50 get(int stage, int group) const {
    return {_mm256_broadcast_sd(operand + (1 << stage) + group),
            _mm256_broadcast_sd(ratio + (1 << stage) + group)};
  }
};

/// 16 words as a matrix of four rows, transposed.
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

/// Twiddle factors of the last two stages on a transposed block of 16 words: lane l is for its row l, that is
/// entry row + l of the stage of distance 2, and entries 2 (row + l) and 2 (row + l) + 1 of the stage of
/// distance 1.
struct LaneFactors {
  Factor50 distance_two;
  Factor50 distance_one[2];

  HEMERA_VECTOR_FUNCTION Factor50 factor(Doubles w, const Modulus50& q) {
    return {w, multiply(w, q.inverse)};
  }

  HEMERA_VECTOR_FUNCTION LaneFactors make(const Word* powers, std::size_t row, const Modulus50& q) {
    const Doubles low = to_doubles(load(powers + 2 * row));
    const Doubles high = to_doubles(load(powers + 2 * row + 4));
    const Doubles first = _mm256_permute2f128_pd(low, high, 0x20);   // 0 1 4 5
    const Doubles second = _mm256_permute2f128_pd(low, high, 0x31);  // 2 3 6 7
    return {factor(to_doubles(load(powers + row)), q),
            {factor(_mm256_unpacklo_pd(first, second), q), factor(_mm256_unpackhi_pd(first, second), q)}};
  }
};

}  // namespace hemera::poly::cpu::avx2
