// Transforms for moduli from 2^50 to 2^61, with 32-bit pieces.
//
// As the scalar ones (P. Longa and M. Naehrig, 2016/504, algorithms 1 and 2; D. Harvey, "Faster arithmetic
// for number-theoretic transforms", section 3), but with Shoup products whose quotient may be 3 more too
// small, of any word: products are in [0, 4q). A stage of the forward transform lets values grow by 4q. Below
// 2^57 all stages fit a word; for larger moduli each stage first brings values from [0, 8q), which is below
// 2^64, to [0, 4q). Values of the inverse transform are in [0, 4q).
#include <cassert>

#include "poly/cpu/avx512/arithmetic64.hpp"
#include "poly/cpu/avx512/transform52.hpp"
#include "poly/cpu/avx512/transforms.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

struct Constants {
  Modulus64 modulus;
  Factor64 last_sum;         // of the inverse: N^-1
  Factor64 last_difference;  // of the inverse: N^-1 times the twiddle factor of the last stage

  [[gnu::always_inline]] static inline Constants make(const LimbTables& tables) {
    return {Modulus64::make(tables.modulus), Factor64::make(tables.inverse_degree),
            Factor64::make(tables.inverse_degree_twist)};
  }
};

struct Twiddles64 {
  const Word* powers;
  const Word* quotients;
};

// The largest number of bits with which (1 + 4 * 17) q is below 2^64.
constexpr int free_bits = 57;

// x, y in [0, 8q), and so are the results; or with 4q more for each stage before.
template <bool folds>
[[gnu::always_inline]] inline void forward_butterfly(Vector& x, Vector& y, const Factor64& w,
                                                     const Constants& c) {
  if constexpr (folds) {
    assert(all_below(x, add(c.modulus.four_q, c.modulus.four_q)) &&
           all_below(y, add(c.modulus.four_q, c.modulus.four_q)));
    x = fold(x, c.modulus.four_q);
  }
  const Vector product = multiply64_lazy(y, w, c.modulus.q);
  y = subtract(add(x, c.modulus.four_q), product);
  x = add(x, product);
}

// x, y in [0, 4q), and so are the results.
[[gnu::always_inline]] inline void inverse_butterfly(Vector& x, Vector& y, const Factor64& w,
                                                     const Constants& c) {
  assert(all_below(x, c.modulus.four_q) && all_below(y, c.modulus.four_q));
  const Vector difference = subtract(add(x, c.modulus.four_q), y);
  x = fold(add(x, y), c.modulus.four_q);
  y = multiply64_lazy(difference, w, c.modulus.q);
}

[[gnu::always_inline]] inline void last_inverse_butterfly(Vector& x, Vector& y, const Constants& c) {
  assert(all_below(x, c.modulus.four_q) && all_below(y, c.modulus.four_q));
  const Vector difference = subtract(add(x, c.modulus.four_q), y);
  x = canonical64(multiply64_lazy(add(x, y), c.last_sum, c.modulus.q), c.modulus);
  y = canonical64(multiply64_lazy(difference, c.last_difference, c.modulus.q), c.modulus);
}

enum class Direction { forward, folding_forward, inverse, inverse_end };

constexpr bool is_forward(Direction direction) {
  return direction == Direction::forward || direction == Direction::folding_forward;
}

// All `stages` stages on 2^stages vectors, with twiddle(stage, group); stage 0 is the one of the largest
// distance.
template <Direction direction, int stages, typename Twiddle>
[[gnu::always_inline]] inline void butterflies(Vector* v, const Twiddle& twiddle, const Constants& c) {
  using Index = ButterflyIndex<stages>;
  unrolled<Index::count>([&](auto k) __attribute__((always_inline)) {
    constexpr Index at = is_forward(direction) ? Index(k.value) : Index::reversed(k.value);
    if constexpr (is_forward(direction)) {
      forward_butterfly<direction == Direction::folding_forward>(v[at.x], v[at.y],
                                                                 twiddle(at.stage, at.group), c);
    } else if constexpr (direction == Direction::inverse_end && at.stage == 0) {
      last_inverse_butterfly(v[at.x], v[at.y], c);
    } else {
      inverse_butterfly(v[at.x], v[at.y], twiddle(at.stage, at.group), c);
    }
  });
}

[[gnu::always_inline]] inline auto block_twiddles(const Twiddles64& t, std::size_t block) {
  return [=](int stage, int group) __attribute__((always_inline)) {
    const std::size_t index = (block << stage) + static_cast<std::size_t>(group);
    return Factor64::make(broadcast(t.powers[index]), broadcast(t.quotients[index]));
  };
}

// Lane l: entry (8 block + l) 2^stage + group.
[[gnu::always_inline]] inline Vector lane_entries(const Word* table, std::size_t block, int stage,
                                                  int group) {
  const Word* p = table + ((8 * block) << stage);
  if (stage == 0) return load(p);
  const auto every_second = [](Vector a, Vector b, bool odd) __attribute__((always_inline)) {
    return _mm512_permutex2var_epi64(
        a, odd ? _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15) : _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
        b);
  };
  const bool odd = (group & 1) != 0;
  if (stage == 1) return every_second(load(p), load(p + 8), odd);
  return every_second(every_second(load(p), load(p + 8), odd), every_second(load(p + 16), load(p + 24), odd),
                      group >= 2);
}

[[gnu::always_inline]] inline auto lane_twiddles(const Twiddles64& t, std::size_t block) {
  return [=](int stage, int group) __attribute__((always_inline)) {
    return Factor64::make(lane_entries(t.powers, block, stage, group),
                          lane_entries(t.quotients, block, stage, group));
  };
}

// Columns [begin, end) of a sweep over a block of `length` words.
template <Direction direction, int stages>
void sweep(Word* out, const Word* in, const Twiddles64& twiddles, std::size_t block, std::size_t length,
           std::size_t begin, std::size_t end, const Constants& c) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const std::size_t stride = length / width;
  for (std::size_t j = begin; j < end; j += lanes) {
    Vector v[width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) v[i] = load(in + i * stride + j);
    butterflies<direction, stages>(v, block_twiddles(twiddles, block), c);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) store(out + i * stride + j, v[i]);
  }
}

// The six stages of the smallest distances on `blocks` blocks of 64 words, from number `block` on.
template <Direction direction>
void block_stages(Word* out, const Word* in, const Twiddles64& twiddles, std::size_t block,
                  std::size_t blocks, const Constants& c) {
  for (const std::size_t end = block + blocks; block < end; ++block, out += 64, in += 64) {
    Vector v[8];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) v[i] = load(in + 8 * i);
    if constexpr (is_forward(direction)) butterflies<direction, 3>(v, block_twiddles(twiddles, block), c);
    transpose(v);
    butterflies<direction, 3>(v, lane_twiddles(twiddles, block), c);
    if constexpr (is_forward(direction)) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 8; ++i) v[i] = reduce64(v[i], c.modulus);
    }
    transpose(v);
    if constexpr (direction == Direction::inverse)
      butterflies<direction, 3>(v, block_twiddles(twiddles, block), c);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) store(out + 8 * i, v[i]);
  }
}

// One sweep over `count` blocks of `length` words, from number `block` on.
template <Direction direction>
void level(int stages, Word* out, const Word* in, const Twiddles64& twiddles, std::size_t block,
           std::size_t count, std::size_t length, const Constants& c) {
  for (const std::size_t end = block + count; block < end; ++block, out += length, in += length) {
    if (stages == 3) sweep<direction, 3>(out, in, twiddles, block, length, 0, length / 8, c);
    if (stages == 2) sweep<direction, 2>(out, in, twiddles, block, length, 0, length / 4, c);
    if (stages == 1) sweep<direction, 1>(out, in, twiddles, block, length, 0, length / 2, c);
  }
}

// The stages from number `stage` on, on one of the 2^stage blocks that it has.
template <Direction direction>
void forward_stages(Word* out, const Word* in, const LimbTables& tables, int stage, std::size_t block) {
  const Constants c = Constants::make(tables);
  const Twiddles64 twiddles{tables.powers.data(), tables.quotients.data()};
  std::size_t blocks = 1;
  for (const int end = tables.log_degree - 6; stage < end;) {
    const int stages = end - stage < 3 ? end - stage : 3;
    const std::size_t length = tables.degree >> stage;
    level<direction>(stages, out, in, twiddles, (std::size_t{1} << stage) + block * blocks, blocks, length,
                     c);
    in = out;
    stage += stages;
    blocks <<= stages;
  }
  block_stages<direction>(out, out, twiddles, tables.degree / 64 + block * blocks, blocks, c);
}

}  // namespace

void forward_transform64(Word* out, const Word* in, const LimbTables& tables) {
  if (tables.modulus.bits() <= free_bits) {
    forward_stages<Direction::forward>(out, in, tables, 0, 0);
  } else {
    forward_stages<Direction::folding_forward>(out, in, tables, 0, 0);
  }
}

void forward_columns64(Word* out, const Word* in, const LimbTables& tables, std::size_t first,
                       std::size_t count) {
  const Twiddles64 twiddles{tables.powers.data(), tables.quotients.data()};
  const Constants c = Constants::make(tables);
  if (tables.modulus.bits() <= free_bits) {
    sweep<Direction::forward, 3>(out, in, twiddles, 1, tables.degree, first, first + count, c);
  } else {
    sweep<Direction::folding_forward, 3>(out, in, twiddles, 1, tables.degree, first, first + count, c);
  }
}

void forward_row64(Word* data, const LimbTables& tables, std::size_t row) {
  Word* const start = data + row * (tables.degree / transform_rows);
  if (tables.modulus.bits() <= free_bits) {
    forward_stages<Direction::forward>(start, start, tables, 3, row);
  } else {
    forward_stages<Direction::folding_forward>(start, start, tables, 3, row);
  }
}

void inverse_transform64(Word* out, const Word* in, const LimbTables& tables) {
  for (std::size_t row = 0; row < transform_rows; ++row) inverse_row64(out, in, tables, row);
  inverse_columns64(out, tables, 0, tables.degree / transform_rows);
}

void inverse_row64(Word* out, const Word* in, const LimbTables& tables, std::size_t row) {
  const Constants c = Constants::make(tables);
  const Twiddles64 twiddles{tables.inverse_powers.data(), tables.inverse_quotients.data()};
  const std::size_t start = row * (tables.degree / transform_rows);
  out += start;
  std::size_t blocks = tables.degree / transform_rows / 64;
  block_stages<Direction::inverse>(out, in + start, twiddles, tables.degree / 64 + row * blocks, blocks, c);
  for (int stage = tables.log_degree - 6; stage > 3;) {
    const int stages = stage - 3 < 3 ? stage - 3 : 3;
    stage -= stages;
    blocks >>= stages;
    level<Direction::inverse>(stages, out, out, twiddles, (std::size_t{1} << stage) + row * blocks, blocks,
                              tables.degree >> stage, c);
  }
}

void inverse_columns64(Word* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  const Twiddles64 twiddles{tables.inverse_powers.data(), tables.inverse_quotients.data()};
  sweep<Direction::inverse_end, 3>(data, data, twiddles, 1, tables.degree, first, first + count,
                                   Constants::make(tables));
}

}  // namespace hemera::poly::cpu::avx512
