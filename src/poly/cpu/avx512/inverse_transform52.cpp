// Inverse transform for moduli below 2^50, with 52-bit multiplies.
//
// Gentleman-Sande (P. Longa and M. Naehrig, 2016/504, algorithm 2), in the reverse order of the forward
// transform, with N^-1 in the factors of the last stage, by the butterflies of inverse_butterflies52.hpp.
#include <cassert>

#include "poly/cpu/avx512/inverse_butterflies52.hpp"
#include "poly/cpu/avx512/transforms.hpp"

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

// One sweep over a block of `length` words; values start below 2 Q and end there.
template <int headroom, int stages, bool last>
[[gnu::noinline]] void sweep(Word* data, const Twiddles52& twiddles, std::size_t block, std::size_t length,
                             const Constants& constants) {
  const Constants c = constants;
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  for (std::size_t j = 0; j < stride; j += lanes) {
    Vector v[width];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) v[i] = load(data + i * stride + j);
    const auto twiddle = block_twiddles<stages>(reloaded(twiddles), block);
    unrolled<stages * width / 2>([&](auto k) __attribute__((always_inline)) {
      butterfly_number<headroom, stages, 2, last, k.value>(v, twiddle, c);
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
        butterfly_number<headroom, 3, 1, false, k.value>(current, twiddle, c);
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
        butterfly_number<headroom, 3, 2, false, k.value>(before, twiddle, c);
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
    sweep<headroom, stages, stage == 0>(out, twiddles, block, length, c);
  }
}

template <int headroom>
void transform(Word* out, const Word* in, const LimbTables& tables) {
  const Constants c = Constants::make(tables, headroom);
  const Twiddles52 twiddles{tables.inverse_powers52.data(), tables.inverse_quotients52.data()};
  switch (tables.log_degree) {
    case 10:
      return run<headroom, 10, 0, 0>(out, in, twiddles, 1, c);
    case 11:
      return run<headroom, 11, 0, 0>(out, in, twiddles, 1, c);
    case 12:
      return run<headroom, 12, 0, 0>(out, in, twiddles, 1, c);
    case 13:
      return run<headroom, 13, 0, 0>(out, in, twiddles, 1, c);
    case 14:
      return run<headroom, 14, 0, 0>(out, in, twiddles, 1, c);
    case 15:
      return run<headroom, 15, 0, 0>(out, in, twiddles, 1, c);
    case 16:
      return run<headroom, 16, 0, 0>(out, in, twiddles, 1, c);
    default:
      assert(tables.log_degree == 17);
      return run<headroom, 17, 0, 0>(out, in, twiddles, 1, c);
  }
}

}  // namespace

void inverse_transform52(Word* out, const Word* in, const LimbTables& tables) {
  if (tables.modulus.bits() == 50) {
    transform<2>(out, in, tables);
  } else {
    assert(tables.modulus.bits() < 50);
    transform<3>(out, in, tables);
  }
}

}  // namespace hemera::poly::cpu::avx512
