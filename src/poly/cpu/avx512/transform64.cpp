// Transforms for moduli from 2^50 to 2^61, with 32-bit pieces.
//
// As the scalar ones (P. Longa and M. Naehrig, 2016/504, algorithms 1 and 2; D. Harvey, "Faster arithmetic
// for number-theoretic transforms", section 3), but with Shoup products whose quotient may be 3 more too
// small, of any word: products are in [0, 4q).
//
// A stage of the forward transform moves both ends of the range of values by 4q. Below 2^56 all stages fit a
// word, if 4q a stage is added at the start; for larger moduli values are in [0, 2B), B the largest multiple
// 2^k q below 2^63, and now and then a stage first brings them to [0, B).
//
// A stage of the inverse transform doubles what is only added. Below 2^57 values are in [0, 16q) before each
// sweep of up to three stages, and after it all but one of a column are again; for larger moduli each stage
// brings its sums from [0, 8q) to [0, 4q).
#include <cassert>

#include "poly/cpu/avx512/arithmetic64.hpp"
#include "poly/cpu/avx512/transform52.hpp"
#include "poly/cpu/avx512/transforms.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

struct Constants {
  Modulus64 modulus;
  Vector start;              // of the forward transform: what its first stage adds
  Vector limit;              // B
  Vector most[3];            // of values of the inverse transform before each stage of a sweep: 16q, 32q, 64q
  Factor64 last_sum;         // of the inverse: N^-1
  Factor64 last_difference;  // of the inverse: N^-1 times the twiddle factor of the last stage

  [[gnu::always_inline]] static inline Constants make(const LimbTables& tables) {
    const Word q = tables.modulus.value();
    const Word limit = q << (63 - tables.modulus.bits());
    return {Modulus64::make(tables.modulus),
            broadcast(4 * static_cast<Word>(tables.log_degree) * q),
            broadcast(limit),
            {broadcast(q << 4), broadcast(q << 5), broadcast(q << 6)},
            Factor64::make(tables.inverse_degree),
            Factor64::make(tables.inverse_degree_twist)};
  }
};

struct Twiddles64 {
  const Word* powers;
  const Word* quotients;
};

// body(how many stages values may go through between two folds, counted from the first of each sweep; 0: any
// number), known at compile time.
template <typename Body>
[[gnu::always_inline]] inline void with_period(const arith::Modulus& q, const Body& body) {
  if (q.bits() <= 56) return body(std::integral_constant<int, 0>{});  // 2^61 + (5 + 8 * 17) q < 2^64
  if (q.bits() <= 59) return body(std::integral_constant<int, 3>{});
  if (q.bits() <= 60) return body(std::integral_constant<int, 2>{});
  body(std::integral_constant<int, 1>{});
}

enum class Kind { plain, first, folding };

// One stage. Without folds, x and y are any words from which 4q can be taken.
template <int period, Kind kind>
[[gnu::always_inline]] inline void forward_butterfly(Vector& x, Vector& y, const Factor64& w,
                                                     const Constants& c) {
  if constexpr (kind == Kind::first) x = add(x, c.start);
  if constexpr (kind == Kind::folding) x = fold(x, c.limit);
  Vector product = multiply64_lazy(y, w, c.modulus.q);
  asm("" : "+v"(product));  // else its difference is taken apart, and added in pieces twice
  y = subtract(period == 0 ? x : add(x, c.modulus.four_q), product);
  x = add(x, product);
}

template <int period, bool first>
constexpr Kind kind_of(int stage) {
  if (period == 0) return first && stage == 0 ? Kind::first : Kind::plain;
  return stage % (period == 0 ? 1 : period) == 0 ? Kind::folding : Kind::plain;
}

constexpr int most_bits_without_folds = 57;

// body(whether the inverse transform folds in each stage), known at compile time.
template <typename Body>
[[gnu::always_inline]] inline void with_folds(const arith::Modulus& q, const Body& body) {
  if (q.bits() <= most_bits_without_folds) return body(std::bool_constant<false>{});
  body(std::bool_constant<true>{});
}

// Sum and difference in stage `number` of a sweep.
template <bool folds, int number>
[[gnu::always_inline]] inline Vector difference(Vector x, Vector y, const Constants& c) {
  const Vector bound = folds ? c.modulus.four_q : c.most[number];
  assert(all_below(x, bound) && all_below(y, bound));
  return subtract(add(x, bound), y);
}

template <bool folds, int number>
[[gnu::always_inline]] inline void inverse_butterfly(Vector& x, Vector& y, const Factor64& w,
                                                     const Constants& c) {
  const Vector z = difference<folds, number>(x, y, c);
  x = folds ? fold(add(x, y), c.modulus.four_q) : add(x, y);
  y = multiply64_lazy(z, w, c.modulus.q);
}

template <bool folds, int number>
[[gnu::always_inline]] inline void last_inverse_butterfly(Vector& x, Vector& y, const Constants& c) {
  const Vector z = difference<folds, number>(x, y, c);
  x = canonical64(multiply64_lazy(add(x, y), c.last_sum, c.modulus.q), c.modulus);
  y = canonical64(multiply64_lazy(z, c.last_difference, c.modulus.q), c.modulus);
}

// The first of the values after a sweep of `stages` stages, from [0, 16 * 2^stages q) to [0, 16q).
template <bool folds, int stages>
[[gnu::always_inline]] inline void fold_first(Vector& x, const Constants& c) {
  if constexpr (!folds) {
    unrolled<stages>([&](auto i)
                         __attribute__((always_inline)) { x = fold(x, c.most[stages - 1 - i.value]); });
  }
}

// Butterfly k of `stages` stages on 2^stages vectors, with twiddle(stage, group); stage 0 is the one of the
// largest distance.
template <int period, int stages, bool first, int k, typename Twiddle>
[[gnu::always_inline]] inline void forward_number(Vector* v, const Twiddle& twiddle, const Constants& c) {
  constexpr ButterflyIndex<stages> at(k);
  forward_butterfly<period, kind_of<period, first>(at.stage)>(v[at.x], v[at.y], twiddle(at.stage, at.group),
                                                              c);
}

// The same of the inverse, where stage 0 comes last.
template <bool folds, int stages, bool last, int k, typename Twiddle>
[[gnu::always_inline]] inline void inverse_number(Vector* v, const Twiddle& twiddle, const Constants& c) {
  constexpr auto at = ButterflyIndex<stages>::reversed(k);
  constexpr int number = stages - 1 - at.stage;
  if constexpr (last && at.stage == 0) {
    last_inverse_butterfly<folds, number>(v[at.x], v[at.y], c);
  } else {
    inverse_butterfly<folds, number>(v[at.x], v[at.y], twiddle(at.stage, at.group), c);
  }
}

[[gnu::always_inline]] inline auto block_twiddles(const Twiddles64& t, std::size_t block) {
  return [=](int stage, int group) __attribute__((always_inline)) {
    const std::size_t index = (block << stage) + static_cast<std::size_t>(group);
    return Factor64::make(broadcast(t.powers[index]), broadcast(t.quotients[index]));
  };
}

// The same for many vectors: worked out once.
template <int stages>
struct SweepTwiddles {
  Factor64 factors[(1 << stages) - 1];

  [[gnu::always_inline]] inline SweepTwiddles(const Twiddles64& t, std::size_t block) {
    unrolled<stages>([&](auto stage) __attribute__((always_inline)) {
      unrolled<(1 << stage.value)>([&](auto group) __attribute__((always_inline)) {
        factors[(1 << stage.value) - 1 + group.value] = block_twiddles(t, block)(stage.value, group.value);
      });
    });
  }
  [[gnu::always_inline]] inline const Factor64& operator()(int stage, int group) const {
    return factors[(1 << stage) - 1 + group];
  }
};

// The twiddles of the three stages of the smallest distances, on a transposed block: each lane holds eight
// neighbours.
[[gnu::always_inline]] inline auto lane_twiddles(const Twiddles64& t, std::size_t block, std::size_t degree) {
  const std::size_t lane_table = degree / 4 + 48 * (block - degree / 64);
  return [=](int stage, int group) __attribute__((always_inline)) {
    const std::size_t index = (stage == 0 ? 8 * block : lane_table + (stage == 1 ? 0 : 16)) +
                              lanes * static_cast<std::size_t>(group);
    return Factor64::make(load(t.powers + index), load(t.quotients + index));
  };
}

// Vectors of a column, or blocks of 64 words, that go through the stages together: one alone would wait for
// results much of the time. A row of the smallest degree has two blocks.
constexpr std::size_t together = 2;

// The input of a sweep at `place`.
struct Values {
  const Word* in;

  [[gnu::always_inline]] inline Vector operator()(std::size_t place, const Constants&) const {
    return load(in + place);
  }
};

// a + shift, and b times a factor more if `two`: any residues below 2^61 become values below 2^61 + 5q.
template <bool two>
struct ShiftedSum {
  const Word* a;
  const Word* b;
  Factor64 factor;
  Vector shift;

  [[gnu::always_inline]] inline Vector operator()(std::size_t place, const Constants& c) const {
    const Vector sum = add(load(a + place), shift);
    if constexpr (!two) return sum;
    return add(sum, multiply64_lazy(load(b + place), factor, c.modulus.q));
  }
};

// Columns [begin, end) of a sweep over a block of `length` words.
template <int period, int stages, bool first, typename Source>
[[gnu::noinline]] void forward_sweep(Word* out, const Source& source, const Twiddles64& twiddles,
                                     std::size_t block, std::size_t length, std::size_t begin,
                                     std::size_t end, const Constants& constants) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const Constants c = constants;
  const Source in = source;
  const SweepTwiddles<stages> twiddle(twiddles, block);
  const std::size_t stride = length / width;
  for (std::size_t j = begin; j < end; j += together * lanes) {
    Vector v[together][width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) v[b][i] = in(i * stride + j + b * lanes, c);
    }
    unrolled<ButterflyIndex<stages>::count>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        forward_number<period, stages, first, k.value>(v[b], twiddle, c);
      }
    });
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) store(out + i * stride + j + b * lanes, v[b][i]);
    }
  }
}

template <bool folds, int stages, bool last>
[[gnu::noinline]] void inverse_sweep(Word* data, const Twiddles64& twiddles, std::size_t block,
                                     std::size_t length, std::size_t begin, std::size_t end,
                                     const Constants& constants) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const Constants c = constants;
  const SweepTwiddles<stages> twiddle(twiddles, block);
  const std::size_t stride = length / width;
  for (std::size_t j = begin; j < end; j += together * lanes) {
    Vector v[together][width];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) v[b][i] = load(data + i * stride + j + b * lanes);
    }
    unrolled<ButterflyIndex<stages>::count>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        inverse_number<folds, stages, last, k.value>(v[b], twiddle, c);
      }
    });
#pragma GCC unroll 2
    for (std::size_t b = 0; b < together; ++b) {
      if (!last) fold_first<folds, stages>(v[b][0], c);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < width; ++i) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) store(data + i * stride + j + b * lanes, v[b][i]);
    }
  }
}

// The last six stages on `blocks` blocks, from number `block` on.
template <int period>
void forward_blocks(Word* data, const Twiddles64& twiddles, std::size_t block, std::size_t blocks,
                    std::size_t degree, const Constants& c) {
  for (const std::size_t end = block + blocks; block < end; block += together, data += 64 * together) {
    Vector v[together][8];
    for (std::size_t b = 0; b < together; ++b) load_block(v[b], data + 64 * b);
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        forward_number<period, 3, false, k.value>(v[b], block_twiddles(twiddles, block + b), c);
      }
    });
    for (std::size_t b = 0; b < together; ++b) transpose(v[b]);
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        forward_number<period, 3, false, k.value>(v[b], lane_twiddles(twiddles, block + b, degree), c);
      }
    });
    for (std::size_t b = 0; b < together; ++b) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 8; ++i)
        v[b][i] = period == 1 ? reduce64_any(v[b][i], c.modulus) : reduce64(v[b][i], c.modulus);
      transpose(v[b]);
      store_block(data + 64 * b, v[b]);
    }
  }
}

template <bool folds>
void inverse_blocks(Word* out, const Word* in, const Twiddles64& twiddles, std::size_t block,
                    std::size_t blocks, std::size_t degree, const Constants& c) {
  for (const std::size_t end = block + blocks; block < end; block += together) {
    Vector v[together][8];
    for (std::size_t b = 0; b < together; ++b) {
      load_block(v[b], in + 64 * b);
      transpose(v[b]);
    }
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        inverse_number<folds, 3, false, k.value>(v[b], lane_twiddles(twiddles, block + b, degree), c);
      }
    });
    for (std::size_t b = 0; b < together; ++b) transpose(v[b]);
    unrolled<12>([&](auto k) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (std::size_t b = 0; b < together; ++b) {
        inverse_number<folds, 3, false, k.value>(v[b], block_twiddles(twiddles, block + b), c);
      }
    });
    for (std::size_t b = 0; b < together; ++b) {
      fold_first<folds, 3>(v[b][0], c);
      store_block(out + 64 * b, v[b]);
    }
    in += 64 * together;
    out += 64 * together;
  }
}

// sweep(stages, data, number, length) on `count` of the blocks of a stage, from block `first` on; a block's
// number is that of its twiddle factor.
template <typename Sweep>
void for_each_block(Word* data, const LimbTables& tables, int stage, std::size_t first, std::size_t count,
                    int stages, const Sweep& sweep) {
  const std::size_t length = tables.degree >> stage;
  for (std::size_t block = (std::size_t{1} << stage) + first, end = block + count; block < end; ++block) {
    unrolled<3>([&](auto k) {
      if (stages == k.value + 1) sweep(std::integral_constant<int, k.value + 1>{}, data, block, length);
    });
    data += length;
  }
}

// The first three stages of the forward transform on columns [first, first + count).
template <typename Source>
void first_sweep(Word* out, const Source& source, const LimbTables& tables, std::size_t first,
                 std::size_t count) {
  const Twiddles64 twiddles{tables.powers64.data(), tables.quotients64.data()};
  with_period(tables.modulus, [&](auto period) {
    forward_sweep<period.value, 3, true>(out, source, twiddles, 1, tables.degree, first, first + count,
                                         Constants::make(tables));
  });
}

}  // namespace

void forward_transform64(Word* out, const Word* in, const LimbTables& tables) {
  forward_columns64(out, in, tables, 0, tables.degree / transform_rows);
  for (std::size_t row = 0; row < transform_rows; ++row) forward_row64(out, tables, row);
}

void forward_columns64(Word* out, const Word* in, const LimbTables& tables, std::size_t first,
                       std::size_t count) {
  first_sweep(out, Values{in}, tables, first, count);
}

void forward_transform_of_sum64(Word* out, const Word* a, const Word* b, const arith::ShoupFactor& factor,
                                Word shift, const LimbTables& tables) {
  const Vector added = broadcast(shift);
  const std::size_t columns = tables.degree / transform_rows;
  if (b == nullptr) {
    first_sweep(out, ShiftedSum<false>{a, nullptr, {}, added}, tables, 0, columns);
  } else {
    first_sweep(out, ShiftedSum<true>{a, b, Factor64::make(factor), added}, tables, 0, columns);
  }
  for (std::size_t row = 0; row < transform_rows; ++row) forward_row64(out, tables, row);
}

void forward_row64(Word* data, const LimbTables& tables, std::size_t row) {
  const Constants c = Constants::make(tables);
  const Twiddles64 twiddles{tables.powers64.data(), tables.quotients64.data()};
  Word* const start = data + row * (tables.degree / transform_rows);
  with_period(tables.modulus, [&](auto period) {
    std::size_t blocks = 1;
    for (int stage = 3; stage < tables.log_degree - 6;) {
      const int stages = tables.log_degree - 6 - stage < 3 ? tables.log_degree - 6 - stage : 3;
      for_each_block(start, tables, stage, row * blocks, blocks, stages,
                     [&](auto number, Word* at, std::size_t block, std::size_t length) {
                       forward_sweep<period.value, number.value, false>(at, Values{at}, twiddles, block,
                                                                        length, 0, length >> number.value, c);
                     });
      stage += stages;
      blocks <<= stages;
    }
    forward_blocks<period.value>(start, twiddles, tables.degree / 64 + row * blocks, blocks, tables.degree,
                                 c);
  });
}

void inverse_transform64(Word* out, const Word* in, const LimbTables& tables) {
  for (std::size_t row = 0; row < transform_rows; ++row) inverse_row64(out, in, tables, row);
  inverse_columns64(out, tables, 0, tables.degree / transform_rows);
}

void inverse_row64(Word* out, const Word* in, const LimbTables& tables, std::size_t row) {
  const Constants c = Constants::make(tables);
  const Twiddles64 twiddles{tables.inverse_powers64.data(), tables.inverse_quotients64.data()};
  const std::size_t start = row * (tables.degree / transform_rows);
  with_folds(tables.modulus, [&](auto folds) {
    std::size_t blocks = tables.degree / transform_rows / 64;
    inverse_blocks<folds.value>(out + start, in + start, twiddles, tables.degree / 64 + row * blocks, blocks,
                                tables.degree, c);
    for (int stage = tables.log_degree - 6; stage > 3;) {
      const int stages = stage - 3 < 3 ? stage - 3 : 3;
      stage -= stages;
      blocks >>= stages;
      for_each_block(out + start, tables, stage, row * blocks, blocks, stages,
                     [&](auto number, Word* at, std::size_t block, std::size_t length) {
                       inverse_sweep<folds.value, number.value, false>(at, twiddles, block, length, 0,
                                                                       length >> number.value, c);
                     });
    }
  });
}

void inverse_columns64(Word* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  const Twiddles64 twiddles{tables.inverse_powers64.data(), tables.inverse_quotients64.data()};
  with_folds(tables.modulus, [&](auto folds) {
    inverse_sweep<folds.value, 3, true>(data, twiddles, 1, tables.degree, first, first + count,
                                        Constants::make(tables));
  });
}

}  // namespace hemera::poly::cpu::avx512
