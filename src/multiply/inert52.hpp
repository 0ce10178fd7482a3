// The arithmetic of inert_passes.hpp on words, written over the eight-lane operations `Ops`: load, store,
// broadcast, add, subtract, bit_and, shift_right<n>, add_low52, add_high52, fold, at_least, transpose.
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

#include "multiply/inert_passes.hpp"

namespace hemera::multiply {

template <typename Ops>
struct Inert52 {
  using Word = std::uint64_t;
  using Vector = typename Ops::Vector;

  static constexpr std::size_t lanes = inert_lanes;
  static constexpr std::size_t pair = inert_pair;
  static constexpr InertFactorForm form = InertFactorForm::quotients52;
  static constexpr std::size_t entry = inert_entry(form);
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

  // Eight rows of eight columns, `pair` words from one to the next.
  static void load_columns(Vector* rows, const Word* at) {
    for (std::size_t l = 0; l < lanes; ++l) rows[l] = Ops::load(at + pair * l);
    Ops::transpose(rows);
  }
  static void store_columns(Word* at, Vector* rows) {
    Ops::transpose(rows);
    for (std::size_t l = 0; l < lanes; ++l) Ops::store(at + pair * l, rows[l]);
  }
  static const Word* reloaded(const Word* p) { return Ops::reloaded(p); }

  // Digits below 2^63 modulo p, in [0, 3p).
  static Vector load_digits(const Word* at, const Constants& k) {
    const Vector x = Ops::load(at);
    const Vector quotient = Ops::add_high52(Ops::zero(), Ops::template shift_right<12>(x), k.ratio64);
    return Ops::add_low52(x, quotient, k.negative_p);
  }
  static void store_residues(Word* at, Vector x, const Constants& k) { Ops::store(at, canonical(x, k)); }

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
      for (std::size_t b = 0; b < blocks; ++b, to += entry) {
        const Word* at = from + entry * b;
        const Value v = times({Ops::load(at), Ops::load(at + 2 * lanes)}, unit, k);
        const Twiddle first = twiddle_of(v, k);
        const Value v2 = times(v, first, k);
        store_twiddle(to, first);
        store_twiddle(to + 4 * lanes, twiddle_of(v2, k));
        store_twiddle(to + 8 * lanes, twiddle_of(times(v2, first, k), k));
      }
    }
  }

  // --- Between the transforms. ---

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
};

}  // namespace hemera::multiply
