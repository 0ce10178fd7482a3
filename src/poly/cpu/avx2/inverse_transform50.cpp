// Inverse transform for moduli below 2^50, in double precision.
//
// Gentleman-Sande (P. Longa and M. Naehrig, 2016/504, algorithm 2), in the reverse order of the forward
// transform, with N^-1 in the factors of the last stage. Values of magnitude up to B q give sums up to 2 B q
// and, with factors of magnitude up to q / 2 (else q), products of at most q (1/2 + 2 B e), e = 3/16 (else
// 3/8), see multiply50. From q the first two stages lead to 4 q; values are then reduced to 0.51 q, and again
// at the end of each sweep of at most three stages, which leads to 4.1 q. All is below 8 q <= 2^53, where
// integers are exact.
#include <cassert>

#include "poly/cpu/avx2/kernels_avx2.hpp"
#include "poly/cpu/avx2/transform50.hpp"

namespace hemera::poly::cpu::avx2 {
namespace {

struct Constants {
  Modulus50 q;
  Word modulus;
  double inverse;
  Factor50 last_sum;         // N^-1
  Factor50 last_difference;  // N^-1 times the twiddle factor of the last stage

  static Constants make(const LimbTables& tables) {
    const Modulus50 q = Modulus50::make(tables.modulus);
    return {q, tables.modulus.value(), _mm256_cvtsd_f64(q.inverse),
            Factor50::make(tables.inverse_degree.operand, q),
            Factor50::make(tables.inverse_degree_twist.operand, q)};
  }
};

[[gnu::always_inline]] inline void butterfly(Doubles& x, Doubles& y, const Factor50& w, const Modulus50& q) {
  const Doubles difference = subtract(x, y);
  x = add(x, y);
  y = multiply50(difference, w, q.q);
  assert(all_within(difference, 0x1p53) && all_within(x, 0x1p53));
}

// `stages` stages on 2^stages vectors, from the smallest distance on. The last one of all takes N^-1 in.
template <int stages, bool last>
[[gnu::always_inline]] inline void butterflies(Doubles* v, const BlockFactors<stages>& factors,
                                               const Constants& c) {
  unrolled<ButterflyIndex<stages>::count>([&](auto k) __attribute__((always_inline)) {
    constexpr auto at = ButterflyIndex<stages>::reversed(k.value);
    if constexpr (last && at.stage == 0) {
      butterfly(v[at.x], v[at.y], c.last_difference, c.q);
      v[at.x] = multiply50(v[at.x], c.last_sum, c.q.q);
    } else {
      butterfly(v[at.x], v[at.y], factors.get(at.stage, at.group), c.q);
    }
  });
}

// Columns [begin, end) of a sweep over a block of `length` words.
template <int stages, bool last>
void sweep(Word* data, const Word* powers, std::size_t block, std::size_t length, std::size_t begin,
           std::size_t end, const Constants& c) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  const BlockFactors<stages> factors(powers, block, c.modulus, c.inverse);
  for (std::size_t j = begin; j < end; j += lanes) {
    Doubles v[width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) v[i] = load_doubles(data + i * stride + j);
    butterflies<stages, last>(v, factors, c);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
      const Doubles reduced = reduce50(v[i], c.q);
      if (last) {
        store(data + i * stride + j, canonical50(reduced, c.q));
      } else {
        store_doubles(data + i * stride + j, reduced);
      }
    }
  }
}

// The first five stages on `blocks` blocks of 32 words: two on each half, transposed, three on whole vectors.
void first_stages(Word* out, const Word* in, const Word* powers, std::size_t block, std::size_t blocks,
                  const Constants& c) {
  for (const std::size_t end = block + blocks; block < end; ++block, in += 32, out += 32) {
    Doubles v[8];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) v[i] = to_doubles(load(in + lanes * i));
#pragma GCC unroll 2
    for (std::size_t part = 0; part < 2; ++part) {
      Doubles* u = v + 4 * part;
      const LaneFactors lane_factors = LaneFactors::make(powers, 8 * block + 4 * part, c.q);
      transpose(u);
      butterfly(u[0], u[1], lane_factors.distance_one[0], c.q);
      butterfly(u[2], u[3], lane_factors.distance_one[1], c.q);
      butterfly(u[0], u[2], lane_factors.distance_two, c.q);
      butterfly(u[1], u[3], lane_factors.distance_two, c.q);
      transpose(u);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) v[i] = reduce50(v[i], c.q);
    const BlockFactors<3> factors(powers, block, c.modulus, c.inverse);
    butterflies<3, false>(v, factors, c);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) store_doubles(out + lanes * i, reduce50(v[i], c.q));
  }
}

// Everything before sweep number `number` on each part of a block, then that sweep: the forward transform
// backwards.
template <int log_degree, int number, int stage>
void run(Word* out, const Word* in, const Word* powers, std::size_t block, const Constants& c) {
  constexpr Sweeps sweeps = sweeps_of(log_degree);
  constexpr std::size_t length = std::size_t{1} << (log_degree - stage);
  if constexpr (number < sweeps.count) {
    constexpr int stages = sweeps.stages[number];
    constexpr std::size_t parts = std::size_t{1} << stages;
    if constexpr (number + 1 == sweeps.count) {
      first_stages(out, in, powers, block << stages, parts, c);
    } else {
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t start = part * (length / parts);
        run<log_degree, number + 1, stage + stages>(out + start, in + start, powers, (block << stages) + part,
                                                    c);
      }
    }
    sweep<stages, number == 0>(out, powers, block, length, 0, length / parts, c);
  }
}

}  // namespace

void inverse_transform(Word* out, const Word* in, const LimbTables& tables) {
  if (tables.modulus.value() >= max_modulus_52) return scalar_kernels().inverse_transform(out, in, tables);
  const Constants c = Constants::make(tables);
  at_degree<10>(tables.log_degree, [&](auto log_degree) {
    run<log_degree.value, 0, 0>(out, in, tables.inverse_powers.data(), 1, c);
  });
}

void inverse_row(Word* out, const Word* in, const LimbTables& tables, std::size_t row) {
  if (tables.modulus.value() >= max_modulus_52) return scalar_kernels().inverse_row(out, in, tables, row);
  const Constants c = Constants::make(tables);
  const std::size_t start = row * (tables.degree / transform_rows);
  at_degree<12>(tables.log_degree, [&](auto log_degree) {
    static_assert(sweeps_of(log_degree.value).stages[0] == 3);
    run<log_degree.value, 1, 3>(out + start, in + start, tables.inverse_powers.data(), transform_rows + row,
                                c);
  });
}

void inverse_columns(Word* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  if (tables.modulus.value() >= max_modulus_52) {
    return scalar_kernels().inverse_columns(data, tables, first, count);
  }
  sweep<3, true>(data, tables.inverse_powers.data(), 1, tables.degree, first, first + count,
                 Constants::make(tables));
}

}  // namespace hemera::poly::cpu::avx2
