// Inverse transform for moduli below 2^50, in double precision. transform50.hpp of the instruction set comes
// first.
//
// Gentleman-Sande (P. Longa and M. Naehrig, 2016/504, algorithm 2), in the reverse order of the forward
// transform, with N^-1 in the factors of the last stage. Values of magnitude up to B q give sums up to 2 B q
// and, with factors of magnitude up to q / 2 (else q), products of at most q (1/2 + 2 B e), e = 3/16 (else
// 3/8), see multiply50. From q the first two stages lead to 4 q; values are then reduced to 0.51 q, and again
// at the end of each sweep of at most three stages, which leads to 4.1 q. All is below 8 q <= 2^53, where
// integers are exact.
#pragma once

#include <cassert>

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

struct Constants {
  Modulus50 q;
  Factors50 last_sum;         // N^-1
  Factors50 last_difference;  // N^-1 times the twiddle factor of the last stage

  static Constants make(const LimbTables& tables) {
    const Modulus50 q = Modulus50::make(tables.modulus);
    return {q, Factors50::make(tables.inverse_degree.operand, q),
            Factors50::make(tables.inverse_degree_twist.operand, q)};
  }
};

// x and y, whose sum and difference are of magnitude up to 2^53, to x + y and w (x - y).
template <typename Factor>
[[gnu::always_inline]] inline void butterfly(Doubles& x, Doubles& y, const Factor& w, const Modulus50& q) {
  const Doubles difference = subtract(x, y);
  x = add(x, y);
  y = multiply50(difference, w, q.q);
  assert(all_within(difference, 0x1p53) && all_within(x, 0x1p53));
}

// Stages `begin` to `end` - 1 of the `stages` stages on 2^stages vectors; number 0 has the smallest
// distance. The last one of all takes N^-1 in.
template <int stages, bool last, int begin = 0, int end = stages, typename Factors>
[[gnu::always_inline]] inline void butterflies(Doubles* v, const Factors& factors, const Constants& c) {
  constexpr int each = 1 << (stages - 1);
  unrolled<(end - begin) * each>([&](auto k) __attribute__((always_inline)) {
    constexpr auto at = ButterflyIndex<stages>::reversed(begin * each + k.value);
    if constexpr (last && at.stage == 0) {
      butterfly(v[at.x], v[at.y], c.last_difference, c.q);
      v[at.x] = multiply50(v[at.x], c.last_sum, c.q.q);
    } else {
      butterfly(v[at.x], v[at.y], factors.template get<(1 << at.stage) + at.group>(), c.q);
    }
  });
}

// Columns [begin, end) of a sweep over a block of `length` words.
template <int stages, bool last>
void sweep(Word* data, const Word* powers, std::size_t block, std::size_t length, std::size_t begin,
           std::size_t end, const Constants& c) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  const BlockFactors<stages> factors(powers, block, c.q);
  for (std::size_t j = begin; j < end; j += lanes) {
    Doubles v[width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
      v[i] = load_doubles(data + i * stride + j);
      assert(all_within(v[i], 0.51, c.q));
    }
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

// The first five stages on `blocks` blocks of 32 words: those of distances below `lanes` on squares of
// vectors, transposed, the others on whole vectors.
void first_stages(Word* out, const Word* in, const Word* powers, std::size_t block, std::size_t blocks,
                  const Constants& c) {
  constexpr std::size_t words = lanes * block_vectors;
  for (const std::size_t end = block + blocks; block < end; ++block, in += words, out += words) {
    Doubles v[block_vectors];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < block_vectors; i += lanes) {
#pragma GCC unroll 4
      for (std::size_t k = i; k < i + lanes; ++k) v[k] = to_doubles(load(in + lanes * k));
      transpose(v + i);
      butterflies<log_lanes, false>(v + i, LaneFactors(powers, block_vectors * block + i, c.q), c);
      transpose(v + i);
    }
    const BlockFactors<vector_stages> factors(powers, block, c.q);
    butterflies<vector_stages, false, 0, 2 - log_lanes>(v, factors, c);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < block_vectors; ++i) v[i] = reduce50(v[i], c.q);
    butterflies<vector_stages, false, 2 - log_lanes, vector_stages>(v, factors, c);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < block_vectors; ++i) store_doubles(out + lanes * i, reduce50(v[i], c.q));
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

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
