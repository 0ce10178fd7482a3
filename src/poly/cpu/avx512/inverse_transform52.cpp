// Inverse transform for moduli below 2^50, with 52-bit multiplies.
//
// Gentleman-Sande (P. Longa and M. Naehrig, 2016/504, algorithm 2), in the reverse order of the forward
// transform, with N^-1 in the factors of the last stage. Values are modulo 2^52 (arithmetic52.hpp). The sum
// of a butterfly grows, the product is in [0, 2q) again, so each register of a sweep has a bound of its own,
// known at compile time: a value is reduced, by a table of multiples of q indexed with the upper four of the
// 52 bits, only where the next sum or difference could pass 2^52, and at the end of a sweep.
//
// Bounds count multiples of Q, the largest multiple of q up to 2^(52-h), h = 2 if q has 50 bits and else h =
// 3: values may reach 2^h Q <= 2^52. A reduction ends below q + 2^48 <= 2 Q.
#include <cassert>

#include "poly/cpu/avx512/transform52.hpp"
#include "poly/cpu/avx512/transforms.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

struct Constants {
  Vector q;
  Vector negative_q;
  Vector mask;
  Vector twice;              // 2 Q
  Vector four;               // 4 Q
  Vector multiples_low;      // floor(i 2^48 / q) q for i < 8
  Vector multiples_high;     // and for 8 <= i < 16
  Factor52 last_sum;         // N^-1
  Factor52 last_difference;  // N^-1 times the twiddle factor of the last stage

  [[gnu::always_inline]] static inline Constants make(const LimbTables& tables, int headroom) {
    const Word q = tables.modulus.value();
    const Word ratio48 = tables.modulus.ratio_high() >> 16;  // floor(2^48 / q)
    const Word rest48 = (Word{1} << 48) - ratio48 * q;
    alignas(64) Word multiples[16];
    Word multiple = 0;
    Word rest = 0;
    for (Word& entry : multiples) {
      entry = multiple;
      multiple += ratio48 * q;
      rest += rest48;
      if (rest >= q) {
        rest -= q;
        multiple += q;
      }
    }
    const Word unit = (tables.modulus.ratio_high() >> (12 + headroom)) * q;  // Q
    return {broadcast(q),
            broadcast((Word{1} << 52) - q),
            broadcast(mask52),
            broadcast(2 * unit),
            broadcast(4 * unit),
            load(multiples),
            load(multiples + 8),
            Factor52::make(tables.inverse_degree),
            Factor52::make(tables.inverse_degree_twist)};
  }
};

// Any value to one below 2 Q.
[[gnu::always_inline]] inline Vector reduce(Vector x, const Constants& c) {
  return subtract(x, _mm512_permutex2var_epi64(c.multiples_low, shift_right<48>(x), c.multiples_high));
}

// The bounds of the values of one sweep through its stages, and what they ask for. Counted in Q / 64, rounded
// up.
template <int headroom, int stages>
struct Bounds {
  static constexpr int unit = 64;
  static constexpr int capacity = unit << headroom;
  static constexpr int width = 1 << stages;

  struct Step {
    bool reduce_inputs = false;
    bool add_four = false;  // to the difference: 4 Q in place of 2 Q
  };

  Step steps[stages > 0 ? stages : 1][width > 1 ? width / 2 : 1] = {};  // [stage][butterfly]
  bool reduce_output[width] = {};

  // All values start below entry Q. The first stage (of the smallest distance) has number 0.
  constexpr explicit Bounds(int entry) {
    int bound[width] = {};
    for (int& b : bound) b = entry * unit;
    for (int stage = 0; stage < stages; ++stage) {
      const int half = 1 << stage;
      for (int butterfly = 0; butterfly < width / 2; ++butterfly) {
        const int x = butterfly / half * 2 * half + butterfly % half;
        const int y = x + half;
        Step& step = steps[stage][butterfly];
        const auto fits = [&] {
          step.add_four = bound[y] > 2 * unit;
          const int difference = bound[x] + (step.add_four ? 4 : 2) * unit;
          return bound[y] <= 4 * unit && bound[x] + bound[y] <= capacity && difference <= capacity;
        };
        if (!fits()) {
          step.reduce_inputs = true;
          bound[x] = bound[x] > 2 * unit ? 2 * unit : bound[x];
          bound[y] = bound[y] > 2 * unit ? 2 * unit : bound[y];
          (void)fits();
        }
        const int difference = bound[x] + (step.add_four ? 4 : 2) * unit;
        bound[x] += bound[y];
        bound[y] = unit + (difference + (1 << headroom) - 1) / (1 << headroom);  // q (1 + difference / 2^52)
      }
    }
    for (int i = 0; i < width; ++i) reduce_output[i] = bound[i] > 2 * unit;
  }
};

// x + y and (x - y) w.
template <bool reduce_inputs, bool add_four>
[[gnu::always_inline]] inline void butterfly(Vector& x, Vector& y, Vector w, Vector w_quotient,
                                             const Constants& c) {
  if constexpr (reduce_inputs) {
    x = reduce(x, c);
    y = reduce(y, c);
  }
  const Vector difference = subtract(add(x, add_four ? c.four : c.twice), y);
  x = add(x, y);
  const Vector quotient = add_high52(zero(), difference, w_quotient);
  y = add_low52(add_low52(zero(), difference, w), quotient, c.negative_q);
}

// The last stage of all, with N^-1: canonical.
template <bool reduce_inputs, bool add_four>
[[gnu::always_inline]] inline void last_butterfly(Vector& x, Vector& y, const Constants& c) {
  if constexpr (reduce_inputs) {
    x = reduce(x, c);
    y = reduce(y, c);
  }
  const Vector difference = subtract(add(x, add_four ? c.four : c.twice), y);
  x = fold(multiply52_lazy(add(x, y), c.last_sum, c.negative_q, c.mask), c.q);
  y = fold(multiply52_lazy(difference, c.last_difference, c.negative_q, c.mask), c.q);
}

template <int headroom, int stages, int entry>
inline constexpr Bounds<headroom, stages> bounds{entry};

// Butterfly k of `stages` stages on 2^stages values, the smallest distance first. twiddle(group) gives the
// factor.
template <int headroom, int stages, int entry, bool last, int k, typename Twiddle>
[[gnu::always_inline]] inline void butterfly_number(Vector* v, const Twiddle& twiddle, const Constants& c) {
  constexpr int stage = k >> (stages - 1);
  constexpr int number = k & ((1 << (stages - 1)) - 1);
  constexpr int group = number >> stage;
  constexpr int x = (group << (stage + 1)) + number % (1 << stage);
  constexpr int y = x + (1 << stage);
  constexpr auto step = bounds<headroom, stages, entry>.steps[stage][number];
  if constexpr (last && stage + 1 == stages) {
    last_butterfly<step.reduce_inputs, step.add_four>(v[x], v[y], c);
  } else {
    const auto [w, w_quotient] = twiddle(stage, group);
    butterfly<step.reduce_inputs, step.add_four>(v[x], v[y], w, w_quotient, c);
  }
}

template <int headroom, int stages, int entry>
[[gnu::always_inline]] inline void reduce_outputs(Vector* v, const Constants& c) {
  unrolled<(1 << stages)>([&](auto i) __attribute__((always_inline)) {
    if constexpr (bounds<headroom, stages, entry>.reduce_output[i.value]) v[i.value] = reduce(v[i.value], c);
  });
}

struct Factor {
  Vector w;
  Vector w_quotient;
};

// The twiddles of `stages` stages on whole vectors; `block`: 2^level + block. Stage 0 has the most groups.
template <int stages>
[[gnu::always_inline]] inline auto block_twiddles(const Twiddles52& t, std::size_t block) {
  return [=](int stage, int group) __attribute__((always_inline)) {
    const std::size_t index = (block << (stages - 1 - stage)) + static_cast<std::size_t>(group);
    return Factor{broadcast(t.powers[index]), broadcast(t.quotients[index])};
  };
}

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
