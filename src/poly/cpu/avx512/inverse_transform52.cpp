// Inverse transform for moduli below 2^50, with 52-bit multiplies.
//
// Gentleman-Sande (P. Longa and M. Naehrig, 2016/504, algorithm 2), in the reverse order of the forward
// transform, with N^-1 in the factors of the last stage, by the butterflies of inverse_butterflies52.hpp.
#include <cassert>

#include "poly/cpu/avx512/inverse_butterflies52.hpp"
#include "poly/cpu/avx512/transforms.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using namespace inverse52;

// The twiddles of the first three stages, on a transposed block: each lane holds eight neighbours.
[[gnu::always_inline]] inline auto lane_twiddles(const Twiddles52& t, std::size_t block,
                                                 std::size_t lane_table) {
  return [=](int stage, int group) __attribute__((always_inline)) {
    const std::size_t index = (stage == 2 ? 8 * block : lane_table + (stage == 1 ? 0 : 16)) +
                              lanes * static_cast<std::size_t>(group);
    return Factor{load(t.powers + index), load(t.quotients + index)};
  };
}

// Columns [begin, end) of a sweep over a block of `length` words, after `done` stages; values start below 2 Q
// and end there.
template <int headroom, int stages, bool last>
[[gnu::noinline]] void sweep(Word* data, const Twiddles52& twiddles, std::size_t block, std::size_t length,
                             std::size_t begin, std::size_t end, const Constants& constants, int done) {
  const Constants c = constants;
  const auto offsets = Offsets<headroom, stages>::make(c, done);
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  for (std::size_t j = begin; j < end; j += lanes) {
    Vector v[width];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) v[i] = load(data + i * stride + j);
    const auto twiddle = block_twiddles<stages>(reloaded(twiddles), block);
    unrolled<stages * width / 2>([&](auto k) __attribute__((always_inline)) {
      butterfly_number<headroom, stages, 2, last, k.value>(v, twiddle, c, offsets);
    });
    if constexpr (!last) reduce_outputs<headroom, stages, 2>(v, c);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) store(data + i * stride + j, v[i]);
  }
}

// The first six stages on `blocks` blocks of 64 words: three on the transposed block, three on whole vectors.
//
// A software pipeline: while block b goes through its first three stages, block b - 1 is transposed back;
// then block b - 1 goes through the other three, while block b + 1 is transposed.
template <int headroom>
[[gnu::noinline]] void first_stages(Word* out, const Word* in, const Twiddles52& twiddles, std::size_t block,
                                    std::size_t blocks, std::size_t degree, const Constants& constants) {
  const Constants c = constants;
  const auto first_offsets = Offsets<headroom, 3>::make(c, 0);
  const auto offsets = Offsets<headroom, 3>::make(c, 3);
  Vector before[8];   // block b - 1
  Vector current[8];  // block b, transposed
  Vector next[8];     // block b + 1
  const auto load_canonical = [&](Vector * v, const Word* p) __attribute__((always_inline)) {
    load_block(v, p);
    for (std::size_t i = 0; i < 8; ++i) assert(_mm512_cmpge_epu64_mask(v[i], c.q) == 0);
  };
  std::size_t lane_table = degree / 4 + 48 * (block - degree / 64);
  load_canonical(current, in);
  transpose(current);
  for (Vector& v : before) v = zero();
  for (std::size_t i = 0; i <= blocks; ++i, ++block, lane_table += 48) {
    const Twiddles52 t = reloaded(twiddles);
    if (i < blocks) {
      const auto twiddle = lane_twiddles(t, block, lane_table);
      unrolled<12>([&](auto k) __attribute__((always_inline)) {
        butterfly_number<headroom, 3, 1, false, k.value>(current, twiddle, c, first_offsets);
        transpose_step<k.value>(before);
      });
      reduce_outputs<headroom, 3, 1>(current, c);
    } else {
      transpose(before);
    }
    if (i > 0) {
      const auto twiddle = block_twiddles<3>(t, block - 1);
      load_canonical(next, in + 64 * (i + 1 < blocks ? i + 1 : blocks - 1));
      unrolled<12>([&](auto k) __attribute__((always_inline)) {
        butterfly_number<headroom, 3, 2, false, k.value>(before, twiddle, c, offsets);
        transpose_step<k.value>(next);
      });
      reduce_outputs<headroom, 3, 2>(before, c);
      store_block(out + 64 * (i - 1), before);
    } else {
      load_canonical(next, in + 64 * (blocks > 1 ? 1 : 0));
      transpose(next);
    }
#pragma GCC unroll 8
    for (std::size_t n = 0; n < 8; ++n) {
      before[n] = current[n];
      current[n] = next[n];
    }
  }
}

// First stages of one block, then the sweeps down to number `number`: the forward transform backwards.
template <int headroom, int log_degree, int number, int stage>
[[gnu::always_inline]] inline void run(Word* out, const Word* in, const Twiddles52& twiddles,
                                       std::size_t block, const Constants& c) {
  constexpr Sweeps sweeps = sweeps_of(log_degree);
  constexpr std::size_t length = std::size_t{1} << (log_degree - stage);
  if constexpr (number == sweeps.split + 1) {
    constexpr std::size_t blocks = length / 64;
    first_stages<headroom>(out, in, twiddles, block * blocks, blocks, std::size_t{1} << log_degree, c);
  }
  if constexpr (number < sweeps.count) {
    constexpr int stages = sweeps.stages[number];
    for (std::size_t part = 0; part < (std::size_t{1} << stages); ++part) {
      const std::size_t start = part * (length >> stages);
      run<headroom, log_degree, number + 1, stage + stages>(out + start, in + start, twiddles,
                                                            (block << stages) + part, c);
    }
    sweep<headroom, stages, stage == 0>(out, twiddles, block, length, 0, length >> stages, c,
                                        log_degree - stage - stages);
  }
}

// body(headroom, constants, twiddles) for a modulus, the headroom a compile-time constant.
template <typename Body>
[[gnu::always_inline]] inline void with_constants(const LimbTables& tables, const Body& body) {
  const Twiddles52 twiddles{tables.inverse_powers52.data(), tables.inverse_quotients52.data()};
  assert(tables.modulus.bits() <= 50);
  if (is_ample(tables)) {
    body(std::integral_constant<int, ample>{}, Constants::make(tables, 3), twiddles);
  } else if (tables.modulus.bits() == 50) {
    body(std::integral_constant<int, 2>{}, Constants::make(tables, 2), twiddles);
  } else {
    body(std::integral_constant<int, 3>{}, Constants::make(tables, 3), twiddles);
  }
}

}  // namespace

void inverse_transform52(Word* out, const Word* in, const LimbTables& tables) {
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    at_degree<10>(tables.log_degree, [&](auto log_degree) {
      run<headroom.value, log_degree.value, 0, 0>(out, in, twiddles, 1, c);
    });
  });
}

void inverse_row52(Word* out, const Word* in, const LimbTables& tables, std::size_t row) {
  const std::size_t start = row * (tables.degree / transform_rows);
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    at_degree<12>(tables.log_degree, [&](auto log_degree) {
      constexpr Sweeps sweeps = sweeps_of(log_degree.value);
      static_assert(sweeps.stages[0] == 3);
      if constexpr (sweeps.split < 0) {  // they are not done by blocks of the last sweep
        constexpr std::size_t blocks = (std::size_t{1} << (log_degree.value - 3)) / 64;
        first_stages<headroom.value>(out + start, in + start, twiddles, (transform_rows + row) * blocks,
                                     blocks, tables.degree, c);
      }
      run<headroom.value, log_degree.value, 1, 3>(out + start, in + start, twiddles, transform_rows + row, c);
    });
  });
}

void inverse_columns52(Word* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  with_constants(tables, [&](auto headroom, const Constants& c, const Twiddles52& twiddles) {
    sweep<headroom.value, 3, true>(data, twiddles, 1, tables.degree, first, first + count, c,
                                   tables.log_degree - 3);
  });
}

}  // namespace hemera::poly::cpu::avx512
