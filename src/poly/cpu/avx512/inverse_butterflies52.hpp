// The butterflies of inverse transforms for moduli below 2^50, with 52-bit multiplies.
//
// Values are modulo 2^52 (arithmetic52.hpp). The sum of a butterfly grows, the product is in [0, 2q) again,
// so each register of a sweep has a bound of its own, known at compile time: a value is reduced, by a table
// of multiples of q indexed with the upper four of the 52 bits, only where the next sum or difference could
// pass 2^52, and at the end of a sweep.
//
// Bounds count multiples of Q, the largest multiple of q up to 2^(52-h), h = 2 if q has 50 bits and else h =
// 3: values may reach 2^h Q <= 2^52. A reduction ends below q + 2^48 <= 2 Q.
//
// Where q has `ample` headroom nothing is reduced before the end: ahead of stage s of all (from 0 on) values
// are below 2^(s+1) q, since a stage at most doubles the largest one.
#pragma once

#include <cassert>

#include "poly/cpu/avx512/transform52.hpp"

namespace hemera::poly::cpu::avx512::inverse52 {

// For h: as much as all stages need.
inline constexpr int ample = 52;
inline bool is_ample(const LimbTables& tables) { return tables.modulus.bits() + tables.log_degree < 52; }

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

  /// Constants with Q: for a headroom that is not ample.
  [[gnu::always_inline]] static inline Constants make(const arith::Modulus& modulus, int headroom) {
    const Word q = modulus.value();
    const Word ratio48 = modulus.ratio_high() >> 16;  // floor(2^48 / q)
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
    const Word unit = (modulus.ratio_high() >> (12 + headroom)) * q;  // Q
    return {broadcast(q),        broadcast((Word{1} << 52) - q),
            broadcast(mask52),   broadcast(2 * unit),
            broadcast(4 * unit), load(multiples),
            load(multiples + 8), {zero(), zero()},
            {zero(), zero()}};
  }

  /// Constants with the factors of the last stage.
  [[gnu::always_inline]] static inline Constants make(const LimbTables& tables, int headroom) {
    Constants constants = make(tables.modulus, headroom);
    constants.last_sum = Factor52::make(tables.inverse_degree);
    constants.last_difference = Factor52::make(tables.inverse_degree_twist);
    return constants;
  }
};

// Any value to one below 2 Q.
[[gnu::always_inline]] inline Vector reduce(Vector x, const Constants& c) {
  const Vector reduced =
      subtract(x, _mm512_permutex2var_epi64(c.multiples_low, shift_right<48>(x), c.multiples_high));
  assert(all_below(bit_and(reduced, c.mask), add(c.q, broadcast(Word{1} << 48))));
  return reduced;
}

// The bounds of the values of one sweep through its stages, and what they ask for. In Q / 64, rounded up.
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

// The multiples that differences of each of some stages have added, where the headroom is ample.
template <int headroom, int stages>
struct Offsets {
  [[gnu::always_inline]] static inline Offsets make(const Constants& /*c*/, int /*done*/) { return {}; }
};
template <int stages>
struct Offsets<ample, stages> {
  Vector of_stage[stages];

  // `done`: how many stages come before.
  [[gnu::always_inline]] static inline Offsets make(const Constants& c, int done) {
    Offsets offsets;
    for (int s = 0; s < stages; ++s) {
      offsets.of_stage[s] = shift_left(c.q, _mm_cvtsi32_si128(done + s + 1));
    }
    return offsets;
  }
};

// x + y and (x - y) w, with a multiple of q that is no less than y.
[[gnu::always_inline]] inline void butterfly(Vector& x, Vector& y, Vector w, Vector w_quotient,
                                             Vector multiple, const Constants& c) {
  const Vector difference = subtract(add(x, multiple), y);
  x = add(x, y);
  const Vector quotient = add_high52(zero(), difference, w_quotient);
  y = add_low52(add_low52(zero(), difference, w), quotient, c.negative_q);
  assert(all_below(bit_and(y, c.mask), add(c.q, c.q)));
}

// The last stage of all, with N^-1: canonical.
[[gnu::always_inline]] inline void last_butterfly(Vector& x, Vector& y, Vector multiple, const Constants& c) {
  const Vector difference = subtract(add(x, multiple), y);
  x = fold(multiply52_lazy(add(x, y), c.last_sum, c.negative_q, c.mask), c.q);
  y = fold(multiply52_lazy(difference, c.last_difference, c.negative_q, c.mask), c.q);
}

template <int headroom, int stages, int entry>
inline constexpr Bounds<headroom, stages> bounds{entry};

// Butterfly k of `stages` stages on 2^stages values, the smallest distance first. twiddle(group) gives the
// factor.
template <int headroom, int stages, int entry, bool last, int k, typename Twiddle>
[[gnu::always_inline]] inline void butterfly_number(Vector* v, const Twiddle& twiddle, const Constants& c,
                                                    const Offsets<headroom, stages>& offsets = {}) {
  constexpr int stage = k >> (stages - 1);
  constexpr int number = k & ((1 << (stages - 1)) - 1);
  constexpr int group = number >> stage;
  constexpr int x = (group << (stage + 1)) + number % (1 << stage);
  constexpr int y = x + (1 << stage);
  const auto with = [&](Vector multiple) __attribute__((always_inline)) {
    if constexpr (last && stage + 1 == stages) {
      last_butterfly(v[x], v[y], multiple, c);
    } else {
      const auto [w, w_quotient] = twiddle(stage, group);
      butterfly(v[x], v[y], w, w_quotient, multiple, c);
    }
  };
  if constexpr (headroom == ample) {
    with(offsets.of_stage[stage]);
  } else {
    constexpr auto step = bounds<headroom, stages, entry>.steps[stage][number];
    if constexpr (step.reduce_inputs) {
      v[x] = reduce(v[x], c);
      v[y] = reduce(v[y], c);
    }
    with(step.add_four ? c.four : c.twice);
  }
}

template <int headroom, int stages, int entry>
[[gnu::always_inline]] inline void reduce_outputs(Vector* v, const Constants& c) {
  if constexpr (headroom != ample) {
    unrolled<(1 << stages)>([&](auto i) __attribute__((always_inline)) {
      if constexpr (bounds<headroom, stages, entry>.reduce_output[i.value])
        v[i.value] = reduce(v[i.value], c);
    });
  }
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

}  // namespace hemera::poly::cpu::avx512::inverse52
