// Forward transform for moduli below 2^50, with 52-bit multiplies.
//
// Cooley-Tukey with the twist in the twiddles (P. Longa and M. Naehrig, 2016/504, algorithm 1), by the lazy
// butterflies of forward_butterflies52.hpp.
#if defined(__GNUC__) && !defined(__clang__)
// The order of instructions below is meant: GCC's scheduler moves shuffles together, which costs a tenth.
#pragma GCC optimize("no-schedule-insns2")
#endif

#include <cassert>

#include "poly/cpu/avx512/forward_butterflies52.hpp"
#include "poly/cpu/avx512/transforms.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using namespace forward52;

// The input of the first sweep: canonical values,
struct Values {
  const Word* in;
  [[gnu::always_inline]] inline Vector operator()(std::size_t i, const Constants& /*c*/) const {
    return load(in + i);
  }
  [[gnu::always_inline]] static inline Vector bound(const Constants& c) { return c.q; }
};

// or a + b factor + shift, b and its factor being optional. The free stages leave room for twice q.
template <bool has_b>
struct ShiftedSum {
  const Word* a;
  const Word* b;
  Factor52 factor;
  Vector shift;

  [[gnu::always_inline]] inline Vector operator()(std::size_t i, const Constants& c) const {
    Vector x = add(load(a + i), shift);
    if constexpr (has_b) x = add(x, multiply52_lazy(load(b + i), factor, c.negative_q, c.mask));
    assert(all_below(x, add(c.mask, c.one)));
    return add_low52(x, add_high52(zero(), x, c.ratio), c.negative_q);
  }
  [[gnu::always_inline]] static inline Vector bound(const Constants& c) { return add(c.q, c.q); }
};

// Columns [begin, end) of a sweep over a block of `length` words.
template <int stages, unsigned flags, bool first, typename Source>
[[gnu::noinline]] void sweep(Word* out, const Source& given, const Twiddles52& twiddles, std::size_t block,
                             std::size_t length, std::size_t begin, std::size_t end,
                             const Constants& constants) {
  const Constants c = constants;
  const Source source = given;
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  for (std::size_t j = begin; j < end; j += lanes) {
    Vector v[width];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) {
      v[i] = source(i * stride + j, c);
      if (first) assert(all_below(bit_and(v[i], c.mask), Source::bound(c)));
    }
    butterflies<stages, flags, first>(v, reloaded(twiddles), block, c);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) store(out + i * stride + j, v[i]);
  }
}

// Butterfly k of the first three of the last six stages.
template <unsigned flags, int k>
[[gnu::always_inline]] inline void block_butterfly(Vector* v, const Twiddles52& t, std::size_t block,
                                                   const Constants& c) {
  constexpr ButterflyIndex<3> at(k);
  const std::size_t index = (block << at.stage) + at.group;
  butterfly<kind_of<false, flags>(at.stage)>(v[at.x], v[at.y], broadcast(t.powers[index]),
                                             broadcast(t.quotients[index]), c);
}

// Butterfly k of the last three stages, on a transposed block: each lane holds eight neighbours.
template <unsigned flags, int k>
[[gnu::always_inline]] inline void lane_butterfly(Vector* v, const Twiddles52& t, std::size_t block,
                                                  std::size_t lane_table, const Constants& c) {
  constexpr ButterflyIndex<3> at(k);
  const std::size_t index =
      (at.stage == 0 ? 8 * block : lane_table + (at.stage == 1 ? 0 : 16)) + lanes * at.group;
  butterfly<kind_of<false, flags>(at.stage + 3)>(v[at.x], v[at.y], load(t.powers + index),
                                                 load(t.quotients + index), c);
}

// The last six stages on `blocks` blocks of 64 words: three on whole vectors, three on the transposed block.
//
// A software pipeline, since one block alone would wait for results most of the time: while block b goes
// through its last three stages, block b - 1 is transposed back; then block b + 2 goes through the first
// three, while block b + 1 is transposed.
template <unsigned flags>
[[gnu::noinline]] void last_stages(Word* data, const Twiddles52& twiddles, std::size_t block,
                                   std::size_t blocks, std::size_t degree, const Constants& constants) {
  const Constants c = constants;
  Vector current[8];   // block b, transposed
  Vector finished[8];  // block b - 1
  Vector next[8];      // block b + 2
  const auto start = [&](Vector * v, std::size_t number) __attribute__((always_inline)) {
    load_block(v, data + 64 * number);
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
      block_butterfly<flags, k.value>(v, twiddles, block + number, c);
    });
  };
  start(current, 0);
  transpose(current);
  if (blocks > 1) {
    start(next, 1);
    store_block(data + 64, next);
  }
  for (Vector& v : finished) v = zero();
  Word* finished_at = data;
  std::size_t lane_table = degree / 4 + 48 * (block - degree / 64);
  for (std::size_t left = blocks; left > 0; --left, ++block, data += 64, lane_table += 48) {
    const Twiddles52 t = reloaded(twiddles);
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
      lane_butterfly<flags, k.value>(current, t, block, lane_table, c);
      transpose_step<k.value>(finished);
    });
    store_block(finished_at, finished);  // the first time, what block 0 will overwrite
    finished_at = data;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) finished[i] = canonical(current[i], c);
    if (left > 2) {
      load_block(current, data + 64);
      load_block(next, data + 128);
      unrolled<12>([&](auto k) __attribute__((always_inline)) {
        block_butterfly<flags, k.value>(next, t, block + 2, c);
        transpose_step<k.value>(current);
      });
      store_block(data + 128, next);
    } else if (left == 2) {
      load_block(current, data + 64);
      transpose(current);
    }
  }
  transpose(finished);
  store_block(finished_at, finished);
}

// Sweep number `number` and the ones after it on one block, then the last stages.
template <int headroom, int log_degree, int number, int stage, typename Source>
[[gnu::always_inline]] inline void run(Word* out, const Source& source, const Twiddles52& twiddles,
                                       std::size_t block, const Constants& c) {
  constexpr Sweeps sweeps = sweeps_of(log_degree);
  constexpr std::size_t length = std::size_t{1} << (log_degree - stage);
  if constexpr (number < sweeps.count) {
    constexpr int stages = sweeps.stages[number];
    sweep<stages, reductions(headroom, stage, stages), stage == 0>(out, source, twiddles, block, length, 0,
                                                                   length >> stages, c);
    for (std::size_t part = 0; part < (std::size_t{1} << stages); ++part) {
      Word* start = out + part * (length >> stages);
      run<headroom, log_degree, number + 1, stage + stages>(start, Values{start}, twiddles,
                                                            (block << stages) + part, c);
    }
  }
  if constexpr (number == sweeps.split + 1) {
    constexpr std::size_t blocks = length / 64;
    last_stages<reductions(headroom, log_degree - 6, 6)>(out, twiddles, block * blocks, blocks,
                                                         std::size_t{1} << log_degree, c);
  }
}

// body(headroom, constants, twiddles) for a modulus, the headroom a compile-time constant.
template <typename Body>
[[gnu::always_inline]] inline void with_constants(const LimbTables& tables, const Body& body) {
  const Twiddles52 twiddles{tables.powers52.data(), tables.quotients52.data()};
  const auto run_with = [&](auto headroom) __attribute__((always_inline)) {
    body(headroom, Constants::make<headroom.value>(tables.modulus), twiddles);
  };
  assert(tables.modulus.bits() <= 50);
  switch (52 - tables.modulus.bits()) {
    case 2:
      return run_with(std::integral_constant<int, 2>{});
    case 3:
      return run_with(std::integral_constant<int, 3>{});
    case 4:
      return run_with(std::integral_constant<int, 4>{});
    default:
      return run_with(std::integral_constant<int, 5>{});
  }
}

template <typename Source>
void transform(Word* out, const Source& source, const LimbTables& tables) {
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    at_degree<10>(tables.log_degree, [&](auto log_degree) {
      run<headroom.value, log_degree.value, 0, 0>(out, source, twiddles, 1, c);
    });
  });
}

}  // namespace

void forward_transform52(Word* out, const Word* in, const LimbTables& tables) {
  transform(out, Values{in}, tables);
}

void forward_transform_of_sum52(Word* out, const Word* a, const Word* b, const arith::ShoupFactor& factor,
                                Word shift, const LimbTables& tables) {
  if (b == nullptr) {
    transform(out, ShiftedSum<false>{a, nullptr, {}, broadcast(shift)}, tables);
  } else {
    transform(out, ShiftedSum<true>{a, b, Factor52::make(factor), broadcast(shift)}, tables);
  }
}

void forward_columns52(Word* out, const Word* in, const LimbTables& tables, std::size_t first,
                       std::size_t count) {
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    sweep<3, reductions(headroom.value, 0, 3), true>(out, Values{in}, twiddles, 1, tables.degree, first,
                                                     first + count, c);
  });
}

void forward_row52(Word* data, const LimbTables& tables, std::size_t row) {
  Word* const start = data + row * (tables.degree / transform_rows);
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    at_degree<12>(tables.log_degree, [&](auto log_degree) {
      constexpr Sweeps sweeps = sweeps_of(log_degree.value);
      static_assert(sweeps.stages[0] == 3);
      run<headroom.value, log_degree.value, 1, 3>(start, Values{start}, twiddles, transform_rows + row, c);
      if constexpr (sweeps.split < 0) {  // they are not done by blocks of the first sweep
        constexpr std::size_t blocks = (std::size_t{1} << (log_degree.value - 3)) / 64;
        last_stages<reductions(headroom.value, log_degree.value - 6, 6)>(
            start, twiddles, (transform_rows + row) * blocks, blocks, tables.degree, c);
      }
    });
  });
}

}  // namespace hemera::poly::cpu::avx512
