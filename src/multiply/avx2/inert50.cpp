// The kernels of integer products in double precision, for AVX2.
//
// Values are integers, signed, as doubles. A product a w is brought to a w - k p of magnitude at most p / 2 +
// 3.01 2^-53 |a w| (poly/cpu/avx2/arithmetic50.hpp); for |a| <= A p, |w| <= p / 2 and p < 2^48 this is
// p (1/2 + A / 20). A Gaussian product takes three: with m = (re + im) cos,
//   re cos - im sin = m - im (cos + sin),  re sin + im cos = m + re (sin - cos),
// at most p (1 + 0.15 A) for components up to A p.
//  - Forward, x_0 is reduced and the values x_0 +- a_1 +- a_2 +- a_3 are at most p (3.51 + 0.45 A): below 6.4
//  p.
//  - Inverse, sums of four of A p go into a product or are reduced: at most p (1 + 0.6 A), below 2.5 p.
// So no sum reaches 2^53 > 32 p, below which integers are exact.
#include "multiply/inert_passes.hpp"
#include "poly/cpu/avx2/transform50.hpp"

namespace hemera::multiply {
namespace {

namespace avx2 = poly::cpu::avx2;
using avx2::add;
using avx2::Modulus50;
using avx2::multiply50;
using avx2::reduce50;
using avx2::subtract;

struct Inert50 {
  using Word = std::uint64_t;
  using Vector = avx2::Doubles;

  static constexpr std::size_t lanes = avx2::lanes;
  static constexpr InertFactorForm form = InertFactorForm::doubles;
  static constexpr std::size_t entry = inert_entry(form);
  static constexpr std::size_t power = entry / 3;  // words

  struct Value {
    Vector re;
    Vector im;
  };
  struct Constants : Modulus50 {
    explicit Constants(const arith::Modulus& p) : Modulus50(make(p)) {}
  };
  struct Twiddle {
    Vector cosine, sum, difference;  // cos, cos + sin, sin - cos
  };

  HEMERA_VECTOR_FUNCTION Value load_value(const Word* at) {
    return {avx2::load_doubles(at), avx2::load_doubles(at + inert_lanes)};
  }
  HEMERA_VECTOR_FUNCTION void store_value(Word* at, const Value& x) {
    avx2::store_doubles(at, x.re);
    avx2::store_doubles(at + inert_lanes, x.im);
  }
  HEMERA_VECTOR_FUNCTION Twiddle load_twiddle(const Word* t) {
    return {avx2::load_doubles(t), avx2::load_doubles(t + inert_lanes),
            avx2::load_doubles(t + 2 * inert_lanes)};
  }
  HEMERA_VECTOR_FUNCTION Twiddle broadcast_twiddle(const Word* t) {
    const auto broadcast = [t](std::size_t i) { return _mm256_castsi256_pd(avx2::broadcast(t[i])); };
    return {broadcast(0), broadcast(1), broadcast(2)};
  }
  /// The same pointer, but unknown to the optimizer, which would keep what it points to in more registers
  /// than there are.
  HEMERA_VECTOR_FUNCTION const Word* reloaded(const Word* p) {
    asm volatile("" : "+r"(p));
    return p;
  }

  // --- Butterflies. ---

  HEMERA_VECTOR_FUNCTION Value sum(const Value& x, const Value& y) {
    return {add(x.re, y.re), add(x.im, y.im)};
  }
  HEMERA_VECTOR_FUNCTION Value difference(const Value& x, const Value& y) {
    return {subtract(x.re, y.re), subtract(x.im, y.im)};
  }
  HEMERA_VECTOR_FUNCTION Value reduced(const Value& x, const Constants& k) {
    return {reduce50(x.re, k), reduce50(x.im, k)};
  }
  HEMERA_VECTOR_FUNCTION Value turn(const Value& x, const Twiddle& w, const Constants& k) {
    const Vector middle = multiply50(add(x.re, x.im), w.cosine, k);
    return {subtract(middle, multiply50(x.im, w.sum, k)), add(middle, multiply50(x.re, w.difference, k))};
  }
  /// Times the conjugate.
  HEMERA_VECTOR_FUNCTION Value turn_back(const Value& x, const Twiddle& w, const Constants& k) {
    const Vector middle = multiply50(add(x.re, x.im), w.cosine, k);
    return {add(middle, multiply50(x.im, w.difference, k)), subtract(middle, multiply50(x.re, w.sum, k))};
  }

  HEMERA_VECTOR_FUNCTION void forward2(Value& x, Value& y, const Twiddle& w, const Constants& k) {
    const Value a = reduced(x, k);
    const Value b = turn(y, w, k);
    x = sum(a, b);
    y = difference(a, b);
  }
  HEMERA_VECTOR_FUNCTION void forward4(Value& x0, Value& x1, Value& x2, Value& x3, const Twiddle& v,
                                       const Twiddle& v2, const Twiddle& v3, const Constants& k) {
    const Value a0 = reduced(x0, k);
    const Value a2 = turn(x2, v2, k);
    const Value s = sum(a0, a2), d = difference(a0, a2);
    const Value a1 = turn(x1, v, k);
    const Value a3 = turn(x3, v3, k);
    const Value t = sum(a1, a3), e = difference(a1, a3);
    x0 = sum(s, t);
    x1 = difference(s, t);
    x2 = {subtract(d.re, e.im), add(d.im, e.re)};
    x3 = {add(d.re, e.im), subtract(d.im, e.re)};
  }
  HEMERA_VECTOR_FUNCTION void inverse2(Value& x, Value& y, const Twiddle& w, const Constants& k) {
    const Value d = difference(x, y);
    x = reduced(sum(x, y), k);
    y = turn_back(d, w, k);
  }
  HEMERA_VECTOR_FUNCTION void inverse4(Value& x0, Value& x1, Value& x2, Value& x3, const Twiddle& v,
                                       const Twiddle& v2, const Twiddle& v3, const Constants& k) {
    const Value s = sum(x0, x1), d = difference(x0, x1);
    const Value t = sum(x2, x3), e = difference(x2, x3);
    x0 = reduced(sum(s, t), k);
    x2 = turn_back(difference(s, t), v2, k);
    x1 = turn_back({add(d.re, e.im), subtract(d.im, e.re)}, v, k);
    x3 = turn_back({subtract(d.re, e.im), add(d.im, e.re)}, v3, k);
  }

  // --- Words and doubles. ---

  /// Digits below 2^63 to residues of at most 0.51 p: their upper halves are reduced.
  HEMERA_VECTOR_FUNCTION Vector load_digits(const Word* at, const Constants& k) {
    const avx2::Vector x = avx2::load(at);
    const Vector high = avx2::multiply(avx2::to_doubles(avx2::shift_right<32>(x)), avx2::broadcast(0x1p32));
    const Vector low = avx2::to_doubles(avx2::bit_and(x, avx2::broadcast(std::uint64_t{0xffffffff})));
    return add(reduce50(high, k), low);
  }
  HEMERA_VECTOR_FUNCTION void store_residues(Word* at, Vector x, const Constants& k) {
    avx2::store(at, avx2::canonical50(reduce50(x, k), k));
  }
  HEMERA_VECTOR_FUNCTION void load_columns(Vector* rows, const Word* at) {
    for (std::size_t l = 0; l < lanes; ++l) {
      rows[l] = avx2::load_doubles(at + inert_pair * l);
      rows[lanes + l] = avx2::load_doubles(at + inert_pair * l + lanes);
    }
    avx2::transpose(rows);
    avx2::transpose(rows + lanes);
  }
  HEMERA_VECTOR_FUNCTION void store_columns(Word* at, Vector* rows) {
    avx2::transpose(rows);
    avx2::transpose(rows + lanes);
    for (std::size_t l = 0; l < lanes; ++l) {
      avx2::store_doubles(at + inert_pair * l, rows[l]);
      avx2::store_doubles(at + inert_pair * l + lanes, rows[lanes + l]);
    }
  }

  // --- The table of twiddles. ---

  HEMERA_VECTOR_FUNCTION Twiddle twiddle_of(const Value& w, const Constants& k) {
    return {w.re, reduce50(add(w.re, w.im), k), reduce50(subtract(w.im, w.re), k)};
  }
  HEMERA_VECTOR_FUNCTION void store_twiddle(Word* at, const Twiddle& w) {
    avx2::store_doubles(at, w.cosine);
    avx2::store_doubles(at + inert_lanes, w.sum);
    avx2::store_doubles(at + 2 * inert_lanes, w.difference);
  }

  static void next_level(Word* to, const Word* from, std::size_t blocks, const Word* units,
                         const arith::Modulus& p) {
    const Constants k(p);
    for (std::size_t part = 0; part < 4; ++part, to += entry * blocks) {
      for (std::size_t lane = 0; lane < inert_lanes; lane += lanes) {
        const Word* own = units + inert_pair * part + lane;
        const Value canonical{avx2::to_doubles(avx2::load(own)),
                              avx2::to_doubles(avx2::load(own + inert_lanes))};
        const Twiddle unit = twiddle_of(reduced(canonical, k), k);
        for (std::size_t b = 0; b < blocks; ++b) {
          const Twiddle w = load_twiddle(from + entry * b + lane);
          const Value v = reduced(turn({w.cosine, subtract(w.sum, w.cosine)}, unit, k), k);
          const Twiddle first = twiddle_of(v, k);
          const Value v2 = reduced(turn(v, first, k), k);
          Word* const at = to + entry * b + lane;
          store_twiddle(at, first);
          store_twiddle(at + power, twiddle_of(v2, k));
          store_twiddle(at + 2 * power, twiddle_of(reduced(turn(v2, first, k), k), k));
        }
      }
    }
  }

  // --- Between the transforms. ---

  static void multiply(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                       std::size_t pairs, const InertTables& tables) {
    const Constants k(tables.prime->modulus);
    const Vector scale = reduce50(avx2::to_doubles(avx2::broadcast(tables.inverse_length.operand)), k);
    for (std::size_t j = 0; j < inert_pair * pairs; j += inert_pair) {
      for (std::size_t lane = 0; lane < inert_lanes; lane += lanes) {
        Value total{avx2::broadcast(0.0), avx2::broadcast(0.0)};
        for (std::size_t i = 0; i < terms; ++i) {
          const Value x = load_value(a[i] + j + lane);
          const Value y = load_value(b[i] + j + lane);
          const Value z{multiply50(y.re, scale, k), multiply50(y.im, scale, k)};
          total = reduced(sum(total, turn(x, {z.re, add(z.re, z.im), subtract(z.im, z.re)}, k)), k);
        }
        store_value(out + j + lane, total);
      }
    }
  }

  // H. L. Garner, "The residue number system" (1959).
  static void mixed_radix(Word* const* rows, const arith::Modulus* primes,
                          const arith::ShoupFactor* const* inverses, std::size_t n, std::size_t count) {
    for (std::size_t i = 1; i < n; ++i) {
      const Constants k(primes[i]);
      for (std::size_t c = 0; c < count; c += lanes) {
        Vector x = avx2::to_doubles(avx2::load(rows[i] + c));
        for (std::size_t j = 0; j < i; ++j) {
          // (x - t_j) / p_j; t_j < 2^48, |x| < 2^48.
          const Vector digit = avx2::to_doubles(avx2::load(rows[j] + c));
          const Vector inverse = avx2::to_doubles(avx2::broadcast(inverses[i][j].operand));
          x = multiply50(subtract(x, digit), inverse, k);
        }
        avx2::store(rows[i] + c, avx2::canonical50(x, k));
      }
    }
  }
};

}  // namespace

const InertKernels& avx2_inert_kernels() {
  static constexpr InertKernels table = InertPasses<Inert50>::table("avx2");
  return table;
}

}  // namespace hemera::multiply
