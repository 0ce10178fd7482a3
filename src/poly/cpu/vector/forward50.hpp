// Forward transform for moduli below 2^50, in double precision. transform50.hpp of the instruction set comes
// first.
//
// Cooley-Tukey with the twist in the twiddles (P. Longa and M. Naehrig, 2016/504, algorithm 1). A product is
// in magnitude at most q (1/2 + |y / q| e) with e = 3/16 for centred factors, w <= q / 2, and 3/8 for others
// (see multiply50; q 2^-50 <= 1), and is added to a value of either sign without correction. From q, six
// stages with centred factors lead to 7.7 q; from the 0.51 q of a reduced value, three with centred and two
// with other ones to 6.4 q, four and one to 5.6 q. All are below 8 q <= 2^53, where integers are exact. So
// all values are reduced before each third sweep, and before the last stages.
#pragma once

#include <cassert>

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

// x and y, of magnitude up to 2^53, to x + w y and x - w y, which stay below it as said above.
template <typename Factor>
[[gnu::always_inline]] inline void butterfly(Doubles& x, Doubles& y, const Factor& w, const Modulus50& q) {
  const Doubles product = multiply50(y, w, q.q);
  assert(all_within(x, 0x1p53) && all_within(y, 0x1p53) && all_within(product, 0x1p52));
  y = subtract(x, product);
  x = add(x, product);
}

// `stages` stages on 2^stages vectors.
template <int stages, typename Factors>
[[gnu::always_inline]] inline void butterflies(Doubles* v, const Factors& factors, const Modulus50& q) {
  unrolled<ButterflyIndex<stages>::count>([&](auto k) __attribute__((always_inline)) {
    constexpr ButterflyIndex<stages> at(k.value);
    butterfly(v[at.x], v[at.y], factors.template get<(1 << at.stage) + at.group>(), q);
  });
}

// The bounds of values before each sweep, in multiples of q: those before the third one are reduced.
constexpr double within[] = {1, 3.48, 0.51, 2.66};

// Columns [begin, end) of sweep number `number` over a block of `length` words. The first one of all reads
// words, not doubles.
template <int stages, int number>
void sweep(Word* out, const Word* in, const Word* powers, std::size_t block, std::size_t length,
           std::size_t begin, std::size_t end, const Modulus50& q) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  const BlockFactors<stages> factors(powers, block, q);
  for (std::size_t j = begin; j < end; j += lanes) {
    Doubles v[width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
      const Word* p = in + i * stride + j;
      v[i] = number == 0 ? to_doubles(load(p)) : load_doubles(p);
      if (number == 2) v[i] = reduce50(v[i], q);
      assert(all_within(v[i], within[number], q));
    }
    butterflies<stages>(v, factors, q);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) store_doubles(out + i * stride + j, v[i]);
  }
}

// The last five stages on `blocks` blocks of 32 words: some on whole vectors, then those of distances below
// `lanes` on squares of vectors, transposed.
void last_stages(Word* data, const Word* powers, std::size_t block, std::size_t blocks, const Modulus50& q) {
  for (const std::size_t end = block + blocks; block < end; ++block, data += lanes * block_vectors) {
    Doubles v[block_vectors];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < block_vectors; ++i) v[i] = reduce50(load_doubles(data + lanes * i), q);
    butterflies<vector_stages>(v, BlockFactors<vector_stages>(powers, block, q), q);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < block_vectors; i += lanes) {
      transpose(v + i);
      butterflies<log_lanes>(v + i, LaneFactors(powers, block_vectors * block + i, q), q);
      transpose(v + i);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < block_vectors; ++i) {
      store(data + lanes * i, canonical50(reduce50(v[i], q), q));
    }
  }
}

// Sweep number `number` on one block, then everything after it on each part of that block.
template <int log_degree, int number, int stage>
void run(Word* out, const Word* in, const Word* powers, std::size_t block, const Modulus50& q) {
  constexpr Sweeps sweeps = sweeps_of(log_degree);
  constexpr std::size_t length = std::size_t{1} << (log_degree - stage);
  if constexpr (number < sweeps.count) {
    constexpr int stages = sweeps.stages[number];
    constexpr std::size_t parts = std::size_t{1} << stages;
    sweep<stages, number>(out, in, powers, block, length, 0, length / parts, q);
    if constexpr (number + 1 == sweeps.count) {
      last_stages(out, powers, block << stages, parts, q);
    } else {
      for (std::size_t part = 0; part < parts; ++part) {
        Word* start = out + part * (length / parts);
        run<log_degree, number + 1, stage + stages>(start, start, powers, (block << stages) + part, q);
      }
    }
  }
}

}  // namespace

void forward_transform(Word* out, const Word* in, const LimbTables& tables) {
  if (tables.modulus.value() >= max_modulus_52) return scalar_kernels().forward_transform(out, in, tables);
  const Modulus50 q = Modulus50::make(tables.modulus);
  at_degree<10>(tables.log_degree,
                [&](auto log_degree) { run<log_degree.value, 0, 0>(out, in, tables.powers.data(), 1, q); });
}

void forward_columns(Word* out, const Word* in, const LimbTables& tables, std::size_t first,
                     std::size_t count) {
  if (tables.modulus.value() >= max_modulus_52) {
    return scalar_kernels().forward_columns(out, in, tables, first, count);
  }
  sweep<3, 0>(out, in, tables.powers.data(), 1, tables.degree, first, first + count,
              Modulus50::make(tables.modulus));
}

void forward_row(Word* data, const LimbTables& tables, std::size_t row) {
  if (tables.modulus.value() >= max_modulus_52) return scalar_kernels().forward_row(data, tables, row);
  const Modulus50 q = Modulus50::make(tables.modulus);
  Word* const start = data + row * (tables.degree / transform_rows);
  at_degree<12>(tables.log_degree, [&](auto log_degree) {
    static_assert(sweeps_of(log_degree.value).stages[0] == 3);
    run<log_degree.value, 1, 3>(start, start, tables.powers.data(), transform_rows + row, q);
  });
}

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
