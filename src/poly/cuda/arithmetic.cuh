// The arithmetics of the transforms: how a residue is held in a register, multiplied by a constant and kept
// in range.
//
// Between the rounds of a transform values are lazy; each arithmetic states its ranges. What enters and
// leaves a transform is canonical, so every arithmetic gives the same bits.
#pragma once

#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda {

/// x - M q if that is not negative, else x; for x below M q + 2^63, since a sign decides.
template <unsigned M>
__device__ __forceinline__ std::uint64_t reduce_once(std::uint64_t x, std::uint64_t q) {
  const std::uint64_t difference = x - M * q;
  assert(x < M * q || difference >> 63 == 0);
  return static_cast<std::int64_t>(difference) < 0 ? x : difference;
}

/// A sum of products of bytes, by the weight of its bytes: s[0] + 2^8 s[1] + ... + 2^56 s[7] as low + 2^32
/// high. With sums below 2^23 both stay below 2^48.
struct ByteSums {
  std::uint64_t low;
  std::uint64_t high;
};

/// Ranges of the integer arithmetics, in units of q: products of values up to 8 are below 2, and words
/// hold 8 (M64: 14, see there). Forward (Cooley-Tukey) a stage adds 2: a first round goes from at most 2 to
/// 4, 6, 8, then reduces the upper input before each further stage: 6, 6; other rounds take up to 8 and
/// reduce before stages 0 and 2: 6, 8, 6, 8. Inverse (Gentleman-Sande) sums double: the bound of each
/// register is known when compiling.
template <class Arithmetic, class TwiddleType>
struct IntegerArithmetic {
  using Value = std::uint64_t;
  using Twiddle = TwiddleType;
  using Factor = TwiddleType;  // what multiply takes

  template <class Modulus>
  static __device__ __forceinline__ Factor expand(const Twiddle& twiddle, const Modulus&) {
    return twiddle;
  }
  template <class Modulus>
  static __device__ __forceinline__ Value load(std::uint64_t canonical, const Modulus&) {
    return canonical;
  }
  static __device__ __forceinline__ Value from_bits(std::uint64_t bits) { return bits; }
  static __device__ __forceinline__ std::uint64_t to_bits(Value value) { return value; }

  template <bool first, int stage, int stages, class Modulus>
  static __device__ __forceinline__ void forward_butterfly(Value& a, Value& b, const Twiddle& w,
                                                           const Modulus& m) {
    constexpr bool reduces = first ? stage >= 3 : stage % 2 == 0;
    assert(a <= 8 * m.q && b <= 8 * m.q);
    const Value u = reduces ? reduce_once<4>(a, m.q) : a;
    assert(u <= 6 * m.q);
    const Value product = Arithmetic::multiply(b, w, m);
    a = u + product;
    b = u + 2 * m.q - product;
  }
  template <class Modulus>
  static __device__ __forceinline__ std::uint64_t finish_forward(Value x, const Modulus& m) {
    return reduce_once<1>(reduce_once<2>(reduce_once<4>(x, m.q), m.q), m.q);
  }

  /// Bound before `stage` of the register whose index has these low bits.
  static constexpr int inverse_bound(int stage, int index) {
    int bound = 2;
    for (int s = 0; s < stage; ++s) bound = (index >> s & 1) != 0 ? 2 : 2 * (bound > 4 ? 4 : bound);
    return bound;
  }
  /// `last`: the root of the tree, where the sum is multiplied as well (by N^-1).
  template <int stage, int index, bool last, class Modulus>
  static __device__ __forceinline__ void inverse_butterfly(Value& a, Value& b, const Twiddle& w,
                                                           const Twiddle& scale, const Modulus& m) {
    constexpr int before = inverse_bound(stage, index);
    constexpr unsigned bound = before > 4 ? 4 : before;
    assert(a <= before * m.q && b <= before * m.q);
    const Value u = before > 4 ? reduce_once<4>(a, m.q) : a;
    const Value v = before > 4 ? reduce_once<4>(b, m.q) : b;
    const Value sum = u + v;
    a = last ? Arithmetic::multiply(sum, scale, m) : sum;
    b = Arithmetic::multiply(u - v + bound * m.q, w, m);
  }
  /// End of a round that is not the last: back to the range of a product.
  template <int stages, int index, class Modulus>
  static __device__ __forceinline__ void end_inverse_round(Value& x, const Modulus& m) {
    constexpr int bound = inverse_bound(stages, index);
    if (bound > 4) x = reduce_once<4>(x, m.q);
    if (bound > 2) x = reduce_once<2>(x, m.q);
  }
  /// The canonical value, from the range of a product.
  template <class Modulus>
  static __device__ __forceinline__ std::uint64_t finish_inverse(Value x, const Modulus& m) {
    return reduce_once<1>(x, m.q);
  }
};

/// A factor w with floor(w 2^64 / q).
struct alignas(16) ShoupTwiddle {
  std::uint64_t operand;
  std::uint64_t quotient;
};

/// Any q < 2^61: Shoup's product (see arith::ShoupFactor).
struct U64 : IntegerArithmetic<U64, ShoupTwiddle> {
  static constexpr unsigned row_blocks = 4;  // of 128 threads on a multiprocessor: bounds the registers
  // The fewest blocks of columns on a multiprocessor; 0 leaves the registers to the compiler, which for the
  // integers' inverse columns chooses fewer than loads of all rows at a time need.
  static constexpr unsigned forward_column_blocks = 1;
  static constexpr unsigned inverse_column_blocks = 1;
  struct Modulus {
    std::uint64_t q;
    std::uint64_t minus_q;  // a constant of its own: the compiler then adds the product in place
  };

  /// A sum of bytes and a canonical addend, below 2^79 together, are taken to below 2q by their quotient,
  /// which is at most one too small from q = 2^17 on.
  struct Fold {
    std::uint64_t reciprocal;  // floor(2^80 / q)
  };

  static __host__ bool takes(const arith::Modulus& q) { return q.bits() <= 61; }
  static __host__ Modulus modulus(const arith::Modulus& q) { return {q.value(), 0 - q.value()}; }
  static __host__ Twiddle twiddle(std::uint64_t w, const arith::Modulus& q) {
    // From Barrett's ratio, which is at most one too small, and no division.
    std::uint64_t quotient = w * q.ratio_high() + arith::multiply_high(w, q.ratio_low());
    quotient += static_cast<std::uint64_t>(0 - quotient * q.value() >= q.value());
    return {w, quotient};
  }
  static __host__ Fold fold(const arith::Modulus& q) {
    return {static_cast<std::uint64_t>((static_cast<arith::uint128>(1) << 80) / q.value())};
  }
  static __device__ __forceinline__ Value fold_bytes(const ByteSums& sums, std::uint64_t addend,
                                                     const Fold& fold, const Modulus& m) {
    const std::uint64_t high = sums.high + (addend >> 32);
    const arith::uint128 sum =
        sums.low + static_cast<std::uint32_t>(addend) + (static_cast<arith::uint128>(high) << 32);
    const std::uint64_t quotient = __umul64hi(static_cast<std::uint64_t>(sum >> 16), fold.reciprocal);
    return static_cast<std::uint64_t>(sum) + quotient * m.minus_q;
  }
  static __device__ __forceinline__ Twiddle read(const Twiddle* table, const Modulus&) {
    const ulonglong2 pair = __ldg(reinterpret_cast<const ulonglong2*>(table));
    return {pair.x, pair.y};
  }
  /// a w mod q for any word a; in [0, 2q).
  static __device__ __forceinline__ Value multiply(Value a, const Twiddle& w, const Modulus& m) {
    const std::uint64_t multiple = __umul64hi(a, w.quotient);
#if defined(__CUDA_ARCH__)
    // a w - k q modulo 2^64 in one chain of multiply-adds; the compiler would make two products and a sum.
    const auto a0 = static_cast<std::uint32_t>(a), a1 = static_cast<std::uint32_t>(a >> 32);
    const auto w0 = static_cast<std::uint32_t>(w.operand), w1 = static_cast<std::uint32_t>(w.operand >> 32);
    const auto k0 = static_cast<std::uint32_t>(multiple), k1 = static_cast<std::uint32_t>(multiple >> 32);
    const auto n0 = static_cast<std::uint32_t>(m.minus_q), n1 = static_cast<std::uint32_t>(m.minus_q >> 32);
    std::uint32_t low, high;
    asm("{\n\t"
        ".reg .u64 t;\n\t"
        ".reg .u32 h;\n\t"
        "mul.wide.u32 t, %2, %4;\n\t"
        "mad.wide.u32 t, %6, %8, t;\n\t"
        "mov.b64 {%0, h}, t;\n\t"
        "mad.lo.u32 h, %2, %5, h;\n\t"
        "mad.lo.u32 h, %3, %4, h;\n\t"
        "mad.lo.u32 h, %6, %9, h;\n\t"
        "mad.lo.u32 %1, %7, %8, h;\n\t"
        "}"
        : "=r"(low), "=r"(high)
        : "r"(a0), "r"(a1), "r"(w0), "r"(w1), "r"(k0), "r"(k1), "r"(n0), "r"(n1));
    return static_cast<std::uint64_t>(high) << 32 | low;
#else
    return a * w.operand + multiple * m.minus_q;
#endif
  }
};

struct alignas(8) MontgomeryTwiddle {
  std::uint64_t operand;  // w 2^64 mod q
};

/// q = 1 mod 2^32 of 40 to 60 bits: Montgomery's product, word by word; -q^-1 is -1 modulo 2^32, so the
/// reduction words need no multiplication.
///
/// Words hold 14 q. Forward a first round of up to four stages goes from at most 2 to 10 without a reduction;
/// other rounds take up to 10, and reduce the upper inputs to 2 before stage 2: 12, 14, 4, 6 (of one or two
/// stages: before the first one). Inverse, what passes 7 is reduced to 2.
struct M64 : IntegerArithmetic<M64, MontgomeryTwiddle> {
  static constexpr unsigned row_blocks = 6;  // of 128 threads on a multiprocessor: bounds the registers
  // As in U64.
  static constexpr unsigned forward_column_blocks = 0;
  static constexpr unsigned inverse_column_blocks = 1;
  struct Modulus {
    std::uint64_t q;
    std::uint32_t high;        // q = high 2^32 + 1
    std::uint32_t minus_high;  // 2^32 - high
    std::uint64_t square;      // 2^128 mod q
    std::uint32_t inverse;     // floor(2^(32 + shift) / (high + 1))
    std::uint32_t shift;       // bits of high less one
  };

  static __host__ bool takes(const arith::Modulus& q) {
    return q.bits() <= 60 && q.bits() >= 40 && (q.value() & 0xffffffffU) == 1;
  }
  static __host__ Modulus modulus(const arith::Modulus& q) {
    const auto high = static_cast<std::uint32_t>(q.value() >> 32);
    const auto shift = static_cast<std::uint32_t>(q.bits() - 33);
    const std::uint64_t inverse = (std::uint64_t{1} << (32 + shift)) / (std::uint64_t{high} + 1);
    return {q.value(), high, 0 - high, q.power(2, 128), static_cast<std::uint32_t>(inverse), shift};
  }
  static __host__ Twiddle twiddle(std::uint64_t w, const arith::Modulus& q) {
    return {q.reduce(static_cast<arith::uint128>(w) << 64)};
  }
  static __device__ __forceinline__ Twiddle read(const Twiddle* table, const Modulus&) {
    return {__ldg(reinterpret_cast<const unsigned long long*>(&table->operand))};
  }
  /// a w for a < 2^64 - 2^61 and canonical w; in (0, q + a / 16], so below 2q.
  ///
  /// A step adds (2^32 - t) q to a sum whose low word is t and divides by 2^32. With the high words c that is
  /// c + 1 + 2^32 (high - t) + t (2^32 - high): one product.
  static __device__ __forceinline__ Value multiply(Value a, const Twiddle& w, const Modulus& m) {
#if defined(__CUDA_ARCH__)
    const auto a0 = static_cast<std::uint32_t>(a), a1 = static_cast<std::uint32_t>(a >> 32);
    const auto w0 = static_cast<std::uint32_t>(w.operand), w1 = static_cast<std::uint32_t>(w.operand >> 32);
    std::uint32_t low, high;
    asm("{\n\t"
        ".reg .u32 t, c, s0, s1, r0, r1;\n\t"
        "mul.lo.u32 t, %2, %4;\n\t"
        "mul.hi.u32 c, %2, %4;\n\t"
        "add.u32 s0, c, 1;\n\t"
        "sub.u32 s1, %6, t;\n\t"
        "mad.lo.cc.u32 s0, t, %7, s0;\n\t"
        "madc.hi.u32 s1, t, %7, s1;\n\t"
        "mad.lo.cc.u32 s0, %2, %5, s0;\n\t"
        "madc.hi.u32 s1, %2, %5, s1;\n\t"
        "mad.lo.cc.u32 s0, %3, %4, s0;\n\t"
        "madc.hi.u32 s1, %3, %4, s1;\n\t"
        "add.u32 r0, s1, 1;\n\t"
        "sub.u32 r1, %6, s0;\n\t"
        "mad.lo.cc.u32 r0, s0, %7, r0;\n\t"
        "madc.hi.u32 r1, s0, %7, r1;\n\t"
        "mad.lo.cc.u32 %0, %3, %5, r0;\n\t"
        "madc.hi.u32 %1, %3, %5, r1;\n\t"
        "}"
        : "=r"(low), "=r"(high)
        : "r"(a0), "r"(a1), "r"(w0), "r"(w1), "r"(m.high), "r"(m.minus_high));
    return static_cast<std::uint64_t>(high) << 32 | low;
#else
    assert(a >> 61 < 7 && w.operand < m.q);
    arith::uint128 sum = static_cast<arith::uint128>(a) * w.operand;
    for (int word = 0; word < 2; ++word) {
      const std::uint64_t factor = (std::uint64_t{1} << 32) - static_cast<std::uint32_t>(sum);
      sum = (sum + static_cast<arith::uint128>(factor) * m.q) >> 32;
    }
    return static_cast<std::uint64_t>(sum);
#endif
  }

  /// Reduces at most 14 q to below 2 q: the quotient from the upper words is at most one too small.
  static __device__ __forceinline__ Value reduce(Value x, const Modulus& m) {
    assert(x <= 14 * m.q);
    const std::uint32_t quotient = __umulhi(static_cast<std::uint32_t>(x >> 32), m.inverse) >> m.shift;
    // Less quotient 2^32 high, and less the quotient.
    const std::uint32_t high = static_cast<std::uint32_t>(x >> 32) + quotient * m.minus_high;
    return (static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(x)) - quotient;
  }
  template <bool first, int stage, int stages>
  static __device__ __forceinline__ void forward_butterfly(Value& a, Value& b, const Twiddle& w,
                                                           const Modulus& m) {
    assert(a <= 14 * m.q && b <= 14 * m.q);
    constexpr int reducing = first ? 4 : stages < 3 ? 0 : 2;
    const Value u = stage == reducing ? reduce(a, m) : a;
    assert(u <= 12 * m.q);
    const Value product = multiply(b, w, m);
    a = u + product;
    b = u + 2 * m.q - product;
  }
  static __device__ __forceinline__ std::uint64_t finish_forward(Value x, const Modulus& m) {
    return reduce_once<1>(reduce(x, m), m.q);
  }
  static constexpr int inverse_bound(int stage, int index) {
    int bound = 2;
    for (int s = 0; s < stage; ++s) bound = (index >> s & 1) != 0 ? 2 : 2 * (bound > 7 ? 2 : bound);
    return bound;
  }
  template <int stage, int index, bool last>
  static __device__ __forceinline__ void inverse_butterfly(Value& a, Value& b, const Twiddle& w,
                                                           const Twiddle& scale, const Modulus& m) {
    constexpr int before = inverse_bound(stage, index);
    constexpr unsigned bound = before > 7 ? 2 : before;
    assert(a <= before * m.q && b <= before * m.q);
    const Value u = before > 7 ? reduce(a, m) : a;
    const Value v = before > 7 ? reduce(b, m) : b;
    const Value sum = u + v;
    a = last ? multiply(sum, scale, m) : sum;
    b = multiply(u - v + bound * m.q, w, m);
  }
  template <int stages, int index>
  static __device__ __forceinline__ void end_inverse_round(Value& x, const Modulus& m) {
    constexpr int bound = inverse_bound(stages, index);
    if (bound > 4) {
      x = reduce(x, m);
    } else if (bound > 2) {
      x = reduce_once<2>(x, m.q);
    }
  }

  struct Fold {};
  static __host__ Fold fold(const arith::Modulus&) { return {}; }
  /// 2^-64 of the sum and the addend, below 1.1 q.
  static __device__ __forceinline__ Value fold_bytes(const ByteSums& sums, std::uint64_t addend, const Fold&,
                                                     const Modulus& m) {
    return lower(sums.low + addend + (static_cast<arith::uint128>(sums.high) << 32), m);
  }
  /// 2^64 a; ranges are those of multiply.
  static __device__ __forceinline__ Value raise(Value a, const Modulus& m) {
    return multiply(a, {m.square}, m);
  }
  /// 2^-64 sum, for a sum below 12.5 products of a value below 8q and a residue; below 8q. Steps as in
  /// multiply.
  static __device__ __forceinline__ Value lower(arith::uint128 sum, const Modulus& m) {
    const std::uint64_t offset = (std::uint64_t{m.high} << 32) + 1;
#pragma unroll
    for (int word = 0; word < 2; ++word) {
      sum = (sum >> 32) + (offset - static_cast<std::uint64_t>(static_cast<std::uint32_t>(sum)) * m.high);
    }
    return static_cast<std::uint64_t>(sum);
  }
};

struct alignas(8) DoubleTwiddle {
  double operand;  // centred
};

/// q < 2^50 as integers in doubles, on the FP64 units.
///
/// A product is exact while |a| <= 4q: with h = fl(a w) and k the integer nearest to a w / q up to rounding,
/// h - k q and the error a w - h of h are integers of less than 53 bits, found by one fused operation each;
/// their sum is below 0.65 q. Forward a stage adds 0.65: 1, 1.65, ..., 3.6; the next round reduces its upper
/// inputs first.
struct F64 {
  static constexpr unsigned row_blocks = 6;  // of 128 threads on a multiprocessor: bounds the registers
  // As in U64.
  static constexpr unsigned forward_column_blocks = 0;
  static constexpr unsigned inverse_column_blocks = 0;
  using Value = double;
  using Twiddle = DoubleTwiddle;
  struct Factor {
    double operand;
    double quotient;  // operand / q
  };
  struct Modulus {
    double q;
    double inverse;  // fl(1 / q)
    std::uint64_t word;
  };
  /// Adding and subtracting it rounds to the nearest integer, up to 2^51 in size.
  static constexpr double round = 0x1.8p52;

  static __host__ bool takes(const arith::Modulus& q) { return q.bits() <= 50; }
  static __host__ Modulus modulus(const arith::Modulus& q) {
    return {static_cast<double>(q.value()), 1.0 / static_cast<double>(q.value()), q.value()};
  }
  static __host__ Twiddle twiddle(std::uint64_t w, const arith::Modulus& q) {
    return {static_cast<double>(q.centered(w))};
  }
  static __device__ __forceinline__ Factor read(const Twiddle* table, const Modulus& m) {
    return expand({__ldg(&table->operand)}, m);
  }
  static __device__ __forceinline__ Factor expand(const Twiddle& twiddle, const Modulus& m) {
    return {twiddle.operand, __dmul_rn(twiddle.operand, m.inverse)};
  }

  struct Fold {};
  static __host__ Fold fold(const arith::Modulus&) { return {}; }
  /// The multiple of q comes from the high part alone, which leaves at most q / 2 and the low part, exactly.
  /// With the addend the sum is below 1.6 q, and below 4 q after four stages.
  static __device__ __forceinline__ Value fold_bytes(const ByteSums& sums, std::uint64_t addend, const Fold&,
                                                     const Modulus& m) {
    const double low = load(sums.low, m);
    // 2^32 high, by its exponent: 2^84 + 2^32 high.
    double high =
        __dadd_rn(__longlong_as_double(static_cast<long long>(sums.high | 0x4530000000000000ULL)), -0x1p84);
    // Below, the quotient would leave its range.
    if (m.q < 0x1p30) high = __dmul_rn(reduce(load(sums.high, m), m), 0x1p32);
    const double multiple = __dadd_rn(__fma_rn(high, m.inverse, round), -round);
    double sum = __dadd_rn(__fma_rn(-multiple, m.q, high), low);
    if (m.q < 0x1p48) sum = reduce(sum, m);  // the low part is below 1.01 2^47
    return __dadd_rn(sum, centered(addend, m));
  }

  /// Below 2^52.
  static __device__ __forceinline__ Value load(std::uint64_t canonical, const Modulus&) {
    return __dadd_rn(__longlong_as_double(static_cast<long long>(canonical | 0x4330000000000000ULL)),
                     -0x1p52);
  }
  /// The centred value, at most q / 2 in size.
  static __device__ __forceinline__ Value centered(std::uint64_t canonical, const Modulus& m) {
    const Value x = load(canonical, m);
    return x > 0.5 * m.q ? __dsub_rn(x, m.q) : x;
  }
  static __device__ __forceinline__ Value from_bits(std::uint64_t bits) {
    return __longlong_as_double(static_cast<long long>(bits));
  }
  static __device__ __forceinline__ std::uint64_t to_bits(Value value) {
    return static_cast<std::uint64_t>(__double_as_longlong(value));
  }
  static __device__ __forceinline__ Value multiply(Value a, const Factor& w, const Modulus& m) {
    assert(a <= 4 * m.q && a >= -4 * m.q);
    return multiply_wide(a, w, m);
  }
  /// The product for |a| up to 4q or 2^33.
  static __device__ __forceinline__ Value multiply_wide(Value a, const Factor& w, const Modulus& m) {
    const double product = __dmul_rn(a, w.operand);
    const double multiple = __dadd_rn(__fma_rn(a, w.quotient, round), -round);
    const double error = __fma_rn(a, w.operand, -product);
    return __dadd_rn(__fma_rn(-multiple, m.q, product), error);
  }
  /// Reduces to at most 0.51 q in size.
  static __device__ __forceinline__ Value reduce(Value a, const Modulus& m) {
    const double multiple = __dadd_rn(__fma_rn(a, m.inverse, round), -round);
    return __fma_rn(-multiple, m.q, a);
  }
  /// |x| <= q, an integer, to [0, q).
  static __device__ __forceinline__ std::uint64_t canonical(Value x, const Modulus& m) {
    const auto bits = static_cast<std::uint64_t>(__double_as_longlong(__dadd_rn(x, round)));
    const std::uint64_t integer = bits - 0x4338000000000000ULL;
    return integer + (m.word & (0 - (integer >> 63)));
  }

  template <bool first, int stage, int stages>
  static __device__ __forceinline__ void forward_butterfly(Value& a, Value& b, const Factor& w,
                                                           const Modulus& m) {
    constexpr bool reduces = first ? stage == 4 : stage == 0;
    const Value u = reduces ? reduce(a, m) : a;
    const Value product = multiply(b, w, m);
    a = __dadd_rn(u, product);
    b = __dsub_rn(u, product);
  }
  static __device__ __forceinline__ std::uint64_t finish_forward(Value x, const Modulus& m) {
    return canonical(reduce(x, m), m);
  }

  /// Bounds in hundredths of q. Canonical inputs pass for products: sums and differences of two or four of
  /// them stay in range as well.
  static constexpr int product_bound = 65;
  static constexpr int inverse_bound(int stage, int index) {
    int bound = product_bound;
    for (int s = 0; s < stage; ++s) {
      bound = (index >> s & 1) != 0 ? product_bound : 2 * (bound > 199 ? 51 : bound);
    }
    return bound;
  }
  template <int stage, int index, bool last>
  static __device__ __forceinline__ void inverse_butterfly(Value& a, Value& b, const Factor& w,
                                                           const Factor& scale, const Modulus& m) {
    constexpr bool reduces = inverse_bound(stage, index) > 199;
    const Value u = reduces ? reduce(a, m) : a;
    const Value v = reduces ? reduce(b, m) : b;
    const Value sum = __dadd_rn(u, v);
    a = last ? multiply(sum, scale, m) : sum;
    b = multiply(__dsub_rn(u, v), w, m);
  }
  template <int stages, int index>
  static __device__ __forceinline__ void end_inverse_round(Value& x, const Modulus& m) {
    if (inverse_bound(stages, index) > product_bound) x = reduce(x, m);
  }
  static __device__ __forceinline__ std::uint64_t finish_inverse(Value x, const Modulus& m) {
    return canonical(x, m);
  }
};

/// A word below 2^62 to a value that a first round takes; in M64 2^-64 of it times `factor`.
template <class A>
__device__ __forceinline__ typename A::Value reduce_word(std::uint64_t word, std::uint64_t factor,
                                                         const arith::Modulus& q,
                                                         const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, M64>) {
    return M64::multiply(word, {factor}, m);
  } else {
    return A::load(q.reduce(word), m);
  }
}

/// The product of two residues as an inverse transform takes it; 2^-64 of it in M64.
template <class A>
__device__ __forceinline__ typename A::Value lazy_product(std::uint64_t a, std::uint64_t b,
                                                          const arith::Modulus& q,
                                                          const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::multiply(F64::centered(a, m), F64::expand({F64::load(b, m)}, m), m);
  } else if constexpr (std::is_same_v<A, M64>) {
    return M64::multiply(a, {b}, m);
  } else {
    return q.multiply(a, b);
  }
}

/// q as a word.
template <class A>
__device__ __forceinline__ std::uint64_t integer_modulus(const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return m.word;
  } else {
    return m.q;
  }
}

/// A signed word of magnitude below q to a value that a first round takes.
template <class A>
__device__ __forceinline__ typename A::Value load_integer(std::uint64_t word, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return static_cast<double>(static_cast<std::int64_t>(word));
  } else {
    return word + (m.q & (0 - (word >> 63)));
  }
}

}  // namespace hemera::poly::cuda
