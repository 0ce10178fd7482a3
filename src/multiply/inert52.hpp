// The kernels of inert_kernels.hpp, written over the eight-lane operations `Ops`: load, store, broadcast,
// add, subtract, bit_and, shift_right<n>, add_low52, add_high52, fold, at_least, transpose.
//
// Values stand modulo 2^52, as in the transforms of poly/cpu/avx512. With p < 2^48 they may reach 16 p:
//  - A product with a constant (cosine, sine) of quotients floor(w 2^52 / p) takes any values below 2^52. The
//  sum of
//    its two Shoup products is in [0, 4p).
//  - Forward, the quotient is taken 2 larger, so the product is in [-2p, 2p), and x_0 is reduced to [6p, 8p).
//  The four
//    sums x_0 +- a_1 +- a_2 +- a_3 are in [0, 14p), and C - x with C = floor(2^52 / p) p >= 15p negates one.
//  - Inverse, values are in [0, 4p): the sum of four is below 16p <= 2^52, and differences have 8p added.
#pragma once

#include <cstddef>
#include <cstdint>

#include "multiply/inert_kernels.hpp"

namespace hemera::multiply {

template <typename Ops>
struct Inert52 {
  using Word = std::uint64_t;
  using Vector = typename Ops::Vector;

  static constexpr std::size_t lanes = inert_lanes;
  static constexpr std::size_t pair = inert_pair;
  static constexpr Word mask52 = (Word{1} << 52) - 1;

  struct Value {
    Vector re;
    Vector im;
  };

  struct Constants {
    Vector p;
    Vector negative_p;      // 2^52 - p
    Vector ratio;           // floor(2^52 / p)
    Vector ratio64;         // floor(2^64 / p)
    Vector radix;           // 2^52 mod p
    Vector radix_quotient;  // floor(radix 2^52 / p)
    Vector twice;           // 2p
    Vector negation;        // C
    Vector six;             // 6p
    Vector eight;           // 8p
    Vector two;             // the number 2
    Vector mask;

    explicit Constants(const arith::Modulus& modulus) {
      const Word q = modulus.value();
      const Word floor52 = modulus.ratio_high() >> 12;
      p = Ops::broadcast(q);
      negative_p = Ops::broadcast((Word{1} << 52) - q);
      ratio = Ops::broadcast(floor52);
      ratio64 = Ops::broadcast(modulus.ratio_high());
      radix = Ops::broadcast((Word{1} << 52) - floor52 * q);
      radix_quotient = Ops::broadcast(((modulus.ratio_high() << 40) | (modulus.ratio_low() >> 24)) & mask52);
      twice = Ops::broadcast(2 * q);
      negation = Ops::broadcast(floor52 * q);
      six = Ops::broadcast(6 * q);
      eight = Ops::broadcast(8 * q);
      two = Ops::broadcast(2);
      mask = Ops::broadcast(mask52);
    }
  };

  struct Twiddle {
    Vector cosine, cosine_quotient, sine, sine_quotient;
  };
  static Twiddle load_twiddle(const Word* t) {
    return {Ops::load(t), Ops::load(t + lanes), Ops::load(t + 2 * lanes), Ops::load(t + 3 * lanes)};
  }
  static Twiddle broadcast_twiddle(const Word* t) {
    return {Ops::broadcast(t[0]), Ops::broadcast(t[1]), Ops::broadcast(t[2]), Ops::broadcast(t[3])};
  }

  // a c + b s - (quotient + `more`) p.
  static Vector combine(Vector a, Vector c, Vector c_quotient, Vector b, Vector s, Vector s_quotient,
                        Vector more, const Constants& k) {
    const Vector quotient = Ops::add_high52(Ops::add_high52(more, a, c_quotient), b, s_quotient);
    return Ops::add_low52(Ops::add_low52(Ops::add_low52(Ops::zero(), a, c), b, s), quotient, k.negative_p);
  }
  // x w in [-2p, 2p).
  static Value turn(const Value& x, const Twiddle& w, const Constants& k) {
    const Vector minus = Ops::subtract(k.negation, x.im);
    return {combine(x.re, w.cosine, w.cosine_quotient, minus, w.sine, w.sine_quotient, k.two, k),
            combine(x.re, w.sine, w.sine_quotient, x.im, w.cosine, w.cosine_quotient, k.two, k)};
  }
  // x times the conjugate of w, in [0, 4p).
  static Value turn_back(const Value& x, const Twiddle& w, const Constants& k) {
    const Vector minus = Ops::subtract(k.negation, x.re);
    return {combine(x.re, w.cosine, w.cosine_quotient, x.im, w.sine, w.sine_quotient, Ops::zero(), k),
            combine(x.im, w.cosine, w.cosine_quotient, minus, w.sine, w.sine_quotient, Ops::zero(), k)};
  }
  // Any value to [0, 2p), plus `start`.
  static Vector reduced(Vector x, Vector start, const Constants& k) {
    const Vector quotient = Ops::add_high52(Ops::zero(), x, k.ratio);
    return Ops::add_low52(Ops::add(x, start), quotient, k.negative_p);
  }

  static void forward2(Value& x, Value& y, const Twiddle& w, const Constants& k) {
    const Value a{reduced(x.re, k.twice, k), reduced(x.im, k.twice, k)};
    const Value b = turn(y, w, k);
    x = {Ops::add(a.re, b.re), Ops::add(a.im, b.im)};
    y = {Ops::subtract(a.re, b.re), Ops::subtract(a.im, b.im)};
  }
  static void forward4(Value& x0, Value& x1, Value& x2, Value& x3, const Twiddle& v, const Twiddle& v2,
                       const Twiddle& v3, const Constants& k) {
    const Value a0{reduced(x0.re, k.six, k), reduced(x0.im, k.six, k)};
    const Value a2 = turn(x2, v2, k);
    const Value s{Ops::add(a0.re, a2.re), Ops::add(a0.im, a2.im)};
    const Value d{Ops::subtract(a0.re, a2.re), Ops::subtract(a0.im, a2.im)};
    const Value a1 = turn(x1, v, k);
    const Value a3 = turn(x3, v3, k);
    const Value t{Ops::add(a1.re, a3.re), Ops::add(a1.im, a3.im)};
    const Value e{Ops::subtract(a1.re, a3.re), Ops::subtract(a1.im, a3.im)};
    x0 = {Ops::add(s.re, t.re), Ops::add(s.im, t.im)};
    x1 = {Ops::subtract(s.re, t.re), Ops::subtract(s.im, t.im)};
    x2 = {Ops::subtract(d.re, e.im), Ops::add(d.im, e.re)};
    x3 = {Ops::add(d.re, e.im), Ops::subtract(d.im, e.re)};
  }

  static void inverse2(Value& x, Value& y, const Twiddle& w, const Constants& k) {
    const Value d{Ops::subtract(Ops::add(x.re, k.eight), y.re), Ops::subtract(Ops::add(x.im, k.eight), y.im)};
    x = {reduced(Ops::add(x.re, y.re), Ops::zero(), k), reduced(Ops::add(x.im, y.im), Ops::zero(), k)};
    y = turn_back(d, w, k);
  }
  static void inverse4(Value& x0, Value& x1, Value& x2, Value& x3, const Twiddle& v, const Twiddle& v2,
                       const Twiddle& v3, const Constants& k) {
    const Value s{Ops::add(x0.re, x1.re), Ops::add(x0.im, x1.im)};
    const Value d{Ops::subtract(Ops::add(x0.re, k.eight), x1.re),
                  Ops::subtract(Ops::add(x0.im, k.eight), x1.im)};
    const Value t{Ops::add(x2.re, x3.re), Ops::add(x2.im, x3.im)};
    const Value e{Ops::subtract(x2.re, x3.re), Ops::subtract(x2.im, x3.im)};
    x0 = {reduced(Ops::add(s.re, t.re), Ops::zero(), k), reduced(Ops::add(s.im, t.im), Ops::zero(), k)};
    x2 = turn_back(
        {Ops::subtract(Ops::add(s.re, k.eight), t.re), Ops::subtract(Ops::add(s.im, k.eight), t.im)}, v2, k);
    x1 = turn_back({Ops::add(d.re, e.im), Ops::subtract(d.im, e.re)}, v, k);
    x3 = turn_back({Ops::subtract(d.re, e.im), Ops::add(d.im, e.re)}, v3, k);
  }

  static Value load_value(const Word* at) { return {Ops::load(at), Ops::load(at + lanes)}; }
  static void store_value(Word* at, const Value& x) {
    Ops::store(at, x.re);
    Ops::store(at + lanes, x.im);
  }

  // --- The table of twiddles. ---

  // floor(w 2^52 / p) for canonical w.
  static Vector quotient_of(Vector w, const Constants& k) {
    const Vector quotient = Ops::add_high52(Ops::add_low52(Ops::zero(), w, k.ratio), w,
                                            k.radix_quotient);  // at most one too small
    const Vector rest = Ops::bit_and(Ops::add_low52(Ops::zero(), quotient, k.negative_p), k.mask);
    return Ops::add(quotient, Ops::at_least(rest, k.p));
  }
  static Vector canonical(Vector x, const Constants& k) {  // from [0, 4p)
    return Ops::fold(Ops::fold(Ops::bit_and(x, k.mask), k.twice), k.p);
  }
  static Twiddle twiddle_of(const Value& w, const Constants& k) {
    return {w.re, quotient_of(w.re, k), w.im, quotient_of(w.im, k)};
  }
  static Value times(const Value& x, const Twiddle& w, const Constants& k) {  // canonical
    const Vector minus = Ops::subtract(k.negation, x.im);
    return {
        canonical(combine(x.re, w.cosine, w.cosine_quotient, minus, w.sine, w.sine_quotient, Ops::zero(), k),
                  k),
        canonical(combine(x.re, w.sine, w.sine_quotient, x.im, w.cosine, w.cosine_quotient, Ops::zero(), k),
                  k)};
  }
  static void store_twiddle(Word* at, const Twiddle& w) {
    Ops::store(at, w.cosine);
    Ops::store(at + lanes, w.cosine_quotient);
    Ops::store(at + 2 * lanes, w.sine);
    Ops::store(at + 3 * lanes, w.sine_quotient);
  }

  static void next_level(Word* to, const Word* from, std::size_t blocks, const Word* units,
                         const arith::Modulus& p) {
    const Constants k(p);
    for (std::size_t part = 0; part < 4; ++part, units += pair) {
      const Twiddle unit = twiddle_of(load_value(units), k);
      for (std::size_t b = 0; b < blocks; ++b, to += inert_entry) {
        const Word* entry = from + inert_entry * b;
        const Value v = times({Ops::load(entry), Ops::load(entry + 2 * lanes)}, unit, k);
        const Twiddle first = twiddle_of(v, k);
        const Value v2 = times(v, first, k);
        store_twiddle(to, first);
        store_twiddle(to + 4 * lanes, twiddle_of(v2, k));
        store_twiddle(to + 8 * lanes, twiddle_of(times(v2, first, k), k));
      }
    }
  }

  // --- Transforms. ---

  // A word below 2^63 modulo p, in [0, 3p).
  static Vector residue(Vector x, const Constants& k) {
    const Vector quotient = Ops::add_high52(Ops::zero(), Ops::template shift_right<12>(x), k.ratio64);
    return Ops::add_low52(x, quotient, k.negative_p);
  }

  static void forward_sweep(Word* values, const Word* digits, const InertTables& tables, std::size_t first,
                            std::size_t count) {
    const Constants k(tables.prime->modulus);
    const std::size_t pairs = tables.pairs;
    const std::size_t half = lanes * pairs;
    for (std::size_t j = first; j < first + count; j += lanes) {
      Value x[8];
      for (std::size_t l = 0; l < 8; ++l) {
        x[l] = {residue(Ops::load(digits + l * pairs + j), k),
                residue(Ops::load(digits + half + l * pairs + j), k)};
      }
      const Word* t = Ops::reloaded(tables.first);
      for (std::size_t l = 0; l < 4; ++l) forward2(x[l], x[l + 4], broadcast_twiddle(t), k);
      forward4(x[0], x[1], x[2], x[3], broadcast_twiddle(t + 4), broadcast_twiddle(t + 8),
               broadcast_twiddle(t + 12), k);
      forward4(x[4], x[5], x[6], x[7], broadcast_twiddle(t + 16), broadcast_twiddle(t + 20),
               broadcast_twiddle(t + 24), k);
      Vector re[8], im[8];
      for (std::size_t l = 0; l < 8; ++l) {
        re[l] = x[l].re;
        im[l] = x[l].im;
      }
      Ops::transpose(re);
      Ops::transpose(im);
      for (std::size_t l = 0; l < 8; ++l) store_value(values + pair * (j + l), {re[l], im[l]});
    }
  }

  static void inverse_sweep(Word* out, const Word* values, const InertTables& tables, std::size_t first,
                            std::size_t count) {
    const Constants k(tables.prime->modulus);
    const std::size_t pairs = tables.pairs;
    const std::size_t half = lanes * pairs;
    for (std::size_t j = first; j < first + count; j += lanes) {
      Vector re[8], im[8];
      for (std::size_t l = 0; l < 8; ++l) {
        re[l] = Ops::load(values + pair * (j + l));
        im[l] = Ops::load(values + pair * (j + l) + lanes);
      }
      Ops::transpose(re);
      Ops::transpose(im);
      Value x[8];
      for (std::size_t l = 0; l < 8; ++l) x[l] = {re[l], im[l]};
      const Word* t = Ops::reloaded(tables.first);
      inverse4(x[0], x[1], x[2], x[3], broadcast_twiddle(t + 4), broadcast_twiddle(t + 8),
               broadcast_twiddle(t + 12), k);
      inverse4(x[4], x[5], x[6], x[7], broadcast_twiddle(t + 16), broadcast_twiddle(t + 20),
               broadcast_twiddle(t + 24), k);
      for (std::size_t l = 0; l < 4; ++l) inverse2(x[l], x[l + 4], broadcast_twiddle(t), k);
      for (std::size_t l = 0; l < 8; ++l) {
        Ops::store(out + l * pairs + j, canonical(x[l].re, k));
        Ops::store(out + half + l * pairs + j, canonical(x[l].im, k));
      }
    }
  }

  // The radix-2 stage of lane level 0 that goes before level 1 when log2 P is odd.
  static Twiddle odd_twiddle(const InertTables& tables) { return load_twiddle(tables.first + 32); }
  static bool starts_with_three(int level, const InertTables& tables) {
    return level == 0 && (__builtin_ctzll(tables.pairs) & 1) != 0;
  }

  // Eight rows of the stage of lane level 0 and the two of level 1, or four rows of two stages.
  template <bool inverse>
  static void three_stages(Word* at, std::size_t stride, const InertTables& tables, const Constants& k) {
    Value x[8];
    for (std::size_t l = 0; l < 8; ++l) x[l] = load_value(at + stride * l);
    const Twiddle w = odd_twiddle(tables);
    if constexpr (!inverse) {
      for (std::size_t l = 0; l < 4; ++l) forward2(x[l], x[l + 4], w, k);
    }
    for (std::size_t part = 0; part < 2; ++part) {
      const Word* t = tables.twiddles + inert_entry * inert_entry_at(1, part);
      four<inverse>(x + 4 * part, t, k);
    }
    if constexpr (inverse) {
      for (std::size_t l = 0; l < 4; ++l) inverse2(x[l], x[l + 4], w, k);
    }
    for (std::size_t l = 0; l < 8; ++l) store_value(at + stride * l, x[l]);
  }
  template <bool inverse>
  static void two_stages(Word* at, std::size_t stride, const Word* table, const Constants& k) {
    Value x[4];
    for (std::size_t l = 0; l < 4; ++l) x[l] = load_value(at + stride * l);
    four<inverse>(x, Ops::reloaded(table), k);
    for (std::size_t l = 0; l < 4; ++l) store_value(at + stride * l, x[l]);
  }
  template <bool inverse>
  static void four(Value* x, const Word* t, const Constants& k) {
    const Twiddle v = load_twiddle(t), v2 = load_twiddle(t + 4 * lanes), v3 = load_twiddle(t + 8 * lanes);
    if constexpr (inverse) {
      inverse4(x[0], x[1], x[2], x[3], v, v2, v3, k);
    } else {
      forward4(x[0], x[1], x[2], x[3], v, v2, v3, k);
    }
  }

  // Columns [first, first + count) of one block.
  template <bool inverse>
  static void columns(Word* data, int level, std::size_t block, std::size_t length, std::size_t first,
                      std::size_t count, const InertTables& tables, const Constants& k) {
    Word* const end = data + pair * (first + count);
    if (starts_with_three(level, tables)) {
      for (Word* at = data + pair * first; at < end; at += pair) {
        three_stages<inverse>(at, pair * (length / 8), tables, k);
      }
    } else {
      const Word* table = tables.twiddles + inert_entry * inert_entry_at(level, block);
      for (Word* at = data + pair * first; at < end; at += pair) {
        two_stages<inverse>(at, pair * (length / 4), table, k);
      }
    }
  }
  template <bool inverse>
  static void pass(Word* data, int level, std::size_t block, std::size_t length, std::size_t first,
                   std::size_t count, const InertTables& tables) {
    columns<inverse>(data, level, block, length, first, count, tables, Constants(tables.prime->modulus));
  }

  // All passes from `level` on, on `count` neighbouring blocks; as a whole if they fit half the first-level
  // cache.
  template <bool inverse>
  static void levels(Word* data, int level, std::size_t block, std::size_t count, std::size_t length,
                     const InertTables& tables, const Constants& k) {
    const int stages = starts_with_three(level, tables) ? 3 : 2;
    const std::size_t part = length >> stages;
    const auto here = [&] {
      for (std::size_t b = 0; b < count; ++b) {
        columns<inverse>(data + pair * length * b, level, block + b, length, 0, part, tables, k);
      }
    };
    const auto below = [&] {
      if (part == 1) return;
      const std::size_t parts = count << stages;
      const std::size_t together = part * parts <= 128 ? parts : 1;
      for (std::size_t b = 0; b < parts; b += together) {
        levels<inverse>(data + pair * part * b, level + stages, (block << stages) + b, together, part, tables,
                        k);
      }
    };
    if constexpr (inverse) {
      below();
      here();
    } else {
      here();
      below();
    }
  }
  template <bool inverse>
  static void blocks(Word* data, int level, std::size_t block, std::size_t length,
                     const InertTables& tables) {
    levels<inverse>(data, level, block, 1, length, tables, Constants(tables.prime->modulus));
  }

  static void multiply(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                       std::size_t pairs, const InertTables& tables) {
    const Constants k(tables.prime->modulus);
    const arith::ShoupFactor& scale = tables.inverse_length;
    const Vector factor = Ops::broadcast(scale.operand);
    const Vector factor_quotient = Ops::broadcast(scale.quotient >> 12);
    const Vector four = Ops::add(k.twice, k.twice);
    const auto scaled = [&](Vector x) {  // [0, 2p)
      const Vector quotient = Ops::add_high52(Ops::zero(), x, factor_quotient);
      return Ops::bit_and(Ops::add_low52(Ops::add_low52(Ops::zero(), x, factor), quotient, k.negative_p),
                          k.mask);
    };
    for (std::size_t j = 0; j < pair * pairs; j += pair) {
      Value sum{Ops::zero(), Ops::zero()};
      for (std::size_t i = 0; i < terms; ++i) {
        const Value x = load_value(a[i] + j);
        const Value y = load_value(b[i] + j);
        const Value z{scaled(y.re), scaled(y.im)};
        const Vector minus = Ops::subtract(k.twice, z.im);
        sum.re = Ops::fold(Ops::add(sum.re, reduced_sum(x.re, z.re, x.im, minus, k)), four);
        sum.im = Ops::fold(Ops::add(sum.im, reduced_sum(x.re, z.im, x.im, z.re, k)), four);
      }
      store_value(out + j, sum);
    }
  }
  // a b + c d in [0, 4p) for a, c < 2^52 and b, d <= 2p.
  static Vector reduced_sum(Vector a, Vector b, Vector c, Vector d, const Constants& k) {
    const Vector low = Ops::add_low52(Ops::add_low52(Ops::zero(), a, b), c, d);
    Vector high = Ops::add_high52(Ops::add_high52(Ops::zero(), a, b), c, d);
    high = Ops::add(high, Ops::template shift_right<52>(low));
    const Vector quotient =
        Ops::add_high52(Ops::add_high52(Ops::zero(), high, k.radix_quotient), low, k.ratio);
    return Ops::bit_and(Ops::add_low52(Ops::add_low52(low, high, k.radix), quotient, k.negative_p), k.mask);
  }

  // H. L. Garner, "The residue number system" (1959).
  static void mixed_radix(Word* const* rows, const arith::Modulus* primes,
                          const arith::ShoupFactor* const* inverses, std::size_t n, std::size_t count) {
    for (std::size_t i = 1; i < n; ++i) {
      const Constants k(primes[i]);
      for (std::size_t c = 0; c < count; c += lanes) {
        Vector x = Ops::load(rows[i] + c);
        for (std::size_t j = 0; j < i; ++j) {
          // (x - t_j) / p_j; t_j < 2^48 < 2p, x < 2p.
          const Vector difference = Ops::subtract(Ops::add(x, k.twice), Ops::load(rows[j] + c));
          const Vector quotient =
              Ops::add_high52(Ops::zero(), difference, Ops::broadcast(inverses[i][j].quotient >> 12));
          const Vector product =
              Ops::add_low52(Ops::zero(), difference, Ops::broadcast(inverses[i][j].operand));
          x = Ops::bit_and(Ops::add_low52(product, quotient, k.negative_p), k.mask);
        }
        Ops::store(rows[i] + c, Ops::fold(x, k.p));
      }
    }
  }

  static constexpr InertKernels table(const char* name) {
    return {name,          next_level,   forward_sweep, pass<false>,   pass<true>,
            blocks<false>, blocks<true>, multiply,      inverse_sweep, mixed_radix};
  }
};

}  // namespace hemera::multiply
