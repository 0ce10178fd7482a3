// Passes of the split form of the discrete Galois transform for primes below 2^50, with 52-bit multiplies.
//
// The weights h^j turn X^(N/2) - i into X^(N/2) - 1, whose roots of unity are residues: after them real and
// imaginary parts go through one cyclic transform with the same twiddle factors, by the butterflies of the
// negacyclic transform (poly/cpu/avx512).
//
// Values are in an order of their own. The first sweep does three stages on the eight parts of the array and
// transposes: lane l then holds part l, and all stages below work on whole vectors, each lane with its own
// twiddle factors. Eight real and eight imaginary parts stand together: value j of part l is at words 16 j +
// l and 16 j + 8 + l.
#include "multiply/split_run.hpp"
#include "poly/cpu/avx512/forward_butterflies52.hpp"
#include "poly/cpu/avx512/inverse_butterflies52.hpp"

// Nothing here may be linked into code for other processors.
namespace hemera::multiply {
namespace {
namespace split52 {

namespace forward = poly::cpu::avx512::forward52;
namespace inverse = poly::cpu::avx512::inverse52;
using namespace poly::cpu::avx512;
using arith::Modulus;

constexpr std::size_t pair = split_pair;

// re c + im s for products with quotients; in [0, 2p (1 + bound / 2^52)) plus `start` for re, im below bound.
[[gnu::always_inline]] inline Vector weighted(Vector re, const Factor52& c, Vector im, const Factor52& s,
                                              Vector start, Vector negative_q) {
  const Vector quotient = add_high52(add_high52(zero(), re, c.quotient), im, s.quotient);
  return add_low52(add_low52(add_low52(start, re, c.operand), im, s.operand), quotient, negative_q);
}

// A vector of factors and the one of their quotients behind it.
[[gnu::always_inline]] inline Factor52 factor_at(const Word* p) { return {load(p), load(p + lanes)}; }

// Three cyclic stages on eight vectors of weighted values; the result is below 2^52.
//
// With a headroom of 3 bits the first stage, whose factor is 1, is sums and differences: values in [0, 2.25
// q), those of the upper half plus 3 q, become ones in [0.75 q, 7.5 q).
template <int headroom>
[[gnu::always_inline]] inline void first_stages(Vector* v, const Twiddles52& twiddles,
                                                const forward::Constants& c) {
  if constexpr (headroom == 2) {
    forward::butterflies<3, 7, false>(v, twiddles, 0, c);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector sum = add(v[i], v[i + 4]);
      v[i + 4] = subtract(v[i], v[i + 4]);
      v[i] = sum;
    }
    forward::butterflies<2, 1, false>(v, twiddles, 0, c);
    forward::butterflies<2, 1, false>(v + 4, twiddles, 1, c);
  }
}

template <int headroom>
[[gnu::noinline]] void forward_sweep(Word* values, const Word* in, std::size_t pairs, const Word* weights,
                                     const Twiddles52& twiddles, const forward::Constants& constants) {
  const forward::Constants c = constants;
  const std::size_t half = lanes * pairs;
  const Vector three_q = add(add(c.q, c.q), c.q);
  for (std::size_t j = 0; j < pairs; j += lanes) {
    Vector re[8], im[8];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < 8; ++l) {
      const std::size_t at = l * pairs + j;
      const Vector x = load(in + at);
      const Vector y = load(in + half + at);
      const Factor52 cosine = factor_at(weights);
      const Factor52 sine = factor_at(weights + 2 * lanes);
      weights += 4 * lanes;
      const Vector from = headroom > 2 && l < 4 ? three_q : zero();
      re[l] = weighted(x, cosine, subtract(c.q, y), sine, from, c.negative_q);
      im[l] = weighted(y, cosine, x, sine, from, c.negative_q);
    }
    first_stages<headroom>(re, reloaded(twiddles), c);
    first_stages<headroom>(im, reloaded(twiddles), c);
    transpose(re);
    transpose(im);
    Word* out = values + pair * j;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      store(out + pair * i, re[i]);
      store(out + pair * i + lanes, im[i]);
    }
  }
}

// Butterfly k of `stages` stages whose factors differ from lane to lane, on real and imaginary parts;
// `block`: 2^level + block.
template <int stages, unsigned flags, int k>
[[gnu::always_inline]] inline void forward_butterfly(Vector* re, Vector* im, const Twiddles52& t,
                                                     std::size_t block, const forward::Constants& c) {
  constexpr poly::cpu::ButterflyIndex<stages> at(k);
  constexpr auto kind = forward::kind_of<false, flags>(at.stage);
  const std::size_t index = lanes * ((block << at.stage) + at.group);
  const Vector w = load(t.powers + index);
  const Vector w_quotient = load(t.quotients + index);
  forward::butterfly<kind>(re[at.x], re[at.y], w, w_quotient, c);
  forward::butterfly<kind>(im[at.x], im[at.y], w, w_quotient, c);
}

// `stages` stages on `blocks` blocks of 2^stages * stride pairs each. The last one makes values canonical.
template <int stages, unsigned flags, bool last>
[[gnu::noinline]] void forward_pass(Word* data, std::size_t block, std::size_t blocks, std::size_t stride,
                                    const Twiddles52& twiddles, const forward::Constants& constants) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const forward::Constants c = constants;
  for (std::size_t b = 0; b < blocks; ++b, ++block, data += pair * (width - 1) * stride) {
    for (std::size_t j = 0; j < stride; ++j, data += pair) {
      Vector re[width], im[width];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < width; ++i) {
        re[i] = load(data + pair * stride * i);
        im[i] = load(data + pair * stride * i + lanes);
      }
      const Twiddles52 t = reloaded(twiddles);
      poly::cpu::unrolled<stages * width / 2>([&](auto k) __attribute__((always_inline)) {
        forward_butterfly<stages, flags, k.value>(re, im, t, block, c);
      });
#pragma GCC unroll 8
      for (std::size_t i = 0; i < width; ++i) {
        store(data + pair * stride * i, last ? forward::canonical(re[i], c) : re[i]);
        store(data + pair * stride * i + lanes, last ? forward::canonical(im[i], c) : im[i]);
      }
    }
  }
}

template <int headroom, int stages>
[[gnu::noinline]] void inverse_pass(Word* data, std::size_t block, std::size_t blocks, std::size_t stride,
                                    const Twiddles52& twiddles, const inverse::Constants& constants) {
  constexpr std::size_t width = std::size_t{1} << stages;
  const inverse::Constants c = constants;
  for (std::size_t b = 0; b < blocks; ++b, ++block, data += pair * (width - 1) * stride) {
    for (std::size_t j = 0; j < stride; ++j, data += pair) {
      Vector re[width], im[width];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < width; ++i) {
        re[i] = load(data + pair * stride * i);
        im[i] = load(data + pair * stride * i + lanes);
      }
      const Twiddles52 t = reloaded(twiddles);
      const auto twiddle = [=](int stage, int group) __attribute__((always_inline)) {
        const std::size_t index = lanes * ((block << (stages - 1 - stage)) + static_cast<std::size_t>(group));
        return inverse::Factor{load(t.powers + index), load(t.quotients + index)};
      };
      poly::cpu::unrolled<stages * width / 2>([&](auto k) __attribute__((always_inline)) {
        inverse::butterfly_number<headroom, stages, 2, false, k.value>(re, twiddle, c);
        inverse::butterfly_number<headroom, stages, 2, false, k.value>(im, twiddle, c);
      });
      inverse::reduce_outputs<headroom, stages, 2>(re, c);
      inverse::reduce_outputs<headroom, stages, 2>(im, c);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < width; ++i) {
        store(data + pair * stride * i, re[i]);
        store(data + pair * stride * i + lanes, im[i]);
      }
    }
  }
}

// Two cyclic stages backwards on four vectors below 2 Q: block 0 or 1 of the eight; below 2 Q again.
template <int headroom>
[[gnu::always_inline]] inline void last_stages(Vector* v, const Twiddles52& twiddles, std::size_t block,
                                               const inverse::Constants& c) {
  const auto twiddle = inverse::block_twiddles<2>(reloaded(twiddles), block);
  poly::cpu::unrolled<4>([&](auto k) __attribute__((always_inline)) {
    inverse::butterfly_number<headroom, 2, 2, false, k.value>(v, twiddle, c);
  });
  inverse::reduce_outputs<headroom, 2, 2>(v, c);
}

// The first three stages of the forward transform backwards, and the weights divided by N/2 after them. The
// factor of the last stage is 1: sums and differences below 4 Q.
template <int headroom>
[[gnu::noinline]] void inverse_sweep(Word* out, const Word* values, std::size_t pairs, const Word* weights,
                                     const Twiddles52& twiddles, const inverse::Constants& constants) {
  const inverse::Constants c = constants;
  const Vector twice_q = add(c.q, c.q);
  const std::size_t half = lanes * pairs;
  for (std::size_t j = 0; j < pairs; j += lanes) {
    Vector re[8], im[8];
    const Word* in = values + pair * j;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      re[i] = load(in + pair * i);
      im[i] = load(in + pair * i + lanes);
    }
    transpose(re);
    transpose(im);
    for (Vector* v : {re, im}) {
      last_stages<headroom>(v, twiddles, 0, c);
      last_stages<headroom>(v + 4, twiddles, 1, c);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Vector difference = subtract(add(v[i], c.twice), v[i + 4]);
        v[i] = add(v[i], v[i + 4]);
        v[i + 4] = difference;
      }
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < 8; ++l) {
      const std::size_t at = l * pairs + j;
      const Factor52 cosine = factor_at(weights);
      const Factor52 sine = factor_at(weights + 2 * lanes);
      weights += 4 * lanes;
      const Vector x =
          bit_and(weighted(re[l], cosine, subtract(c.four, im[l]), sine, zero(), c.negative_q), c.mask);
      const Vector y = bit_and(weighted(im[l], cosine, re[l], sine, zero(), c.negative_q), c.mask);
      store(out + at, fold(fold(x, twice_q), c.q));  // both below 4 q
      store(out + half + at, fold(fold(y, twice_q), c.q));
    }
  }
}

// out = sum of a[k] b[k] for k < terms <= 8, `words` words each: any a, canonical b; below 2q.
[[gnu::noinline]] inline void sum_of_products(Word* out, const Word* const* a, const Word* const* b,
                                              std::size_t terms, std::size_t words, const Modulus& p) {
  const Modulus52 q = Modulus52::make(p);
  for (std::size_t j = 0; j < words; j += pair) {
    Vector re_low = zero(), re_high = zero(), im_low = zero(), im_high = zero();
    for (std::size_t k = 0; k < terms; ++k) {
      const Vector a_re = load(a[k] + j), a_im = load(a[k] + j + lanes);
      const Vector b_re = load(b[k] + j), b_im = load(b[k] + j + lanes);
      const Vector minus = subtract(q.q, b_im);
      re_low = add_low52(add_low52(re_low, a_re, b_re), a_im, minus);
      re_high = add_high52(add_high52(re_high, a_re, b_re), a_im, minus);
      im_low = add_low52(add_low52(im_low, a_re, b_im), a_im, b_re);
      im_high = add_high52(add_high52(im_high, a_re, b_im), a_im, b_re);
    }
    store(out + j, fold(reduce_sum52_lazy(re_high, re_low, q), q.twice_q));
    store(out + j + lanes, fold(reduce_sum52_lazy(im_high, im_low, q), q.twice_q));
  }
}

template <int headroom>
struct Passes {
  using Forward = forward::Constants;
  using Inverse = inverse::Constants;
  using ForwardPass = void (*)(Word*, std::size_t, std::size_t, std::size_t, const Twiddles52&,
                               const Forward&);
  using InversePass = void (*)(Word*, std::size_t, std::size_t, std::size_t, const Twiddles52&,
                               const Inverse&);
  // Below 2^49 one factor of a product need not be canonical.
  static constexpr bool takes_any_left_factor = headroom > 2;

  static Forward make_forward(const Modulus& p) { return Forward::make<headroom>(p); }
  static Inverse make_inverse(const Modulus& p) { return Inverse::make(p, headroom); }
  static void forward_sweep(Word* values, const Word* in, std::size_t pairs, const Word* weights,
                            const Twiddles52& twiddles, const Forward& constants) {
    split52::forward_sweep<headroom>(values, in, pairs, weights, twiddles, constants);
  }
  static void inverse_sweep(Word* out, const Word* values, std::size_t pairs, const Word* weights,
                            const Twiddles52& twiddles, const Inverse& constants) {
    split52::inverse_sweep<headroom>(out, values, pairs, weights, twiddles, constants);
  }
  static ForwardPass forward_pass(int stages, bool last) {
    // A reduction at every stage, or one a pass.
    constexpr unsigned in_two = headroom == 2 ? 0b11 : 0b1;
    constexpr unsigned in_three = headroom == 2 ? 0b111 : 0b1;
    if (stages == 2)
      return last ? split52::forward_pass<2, in_two, true> : split52::forward_pass<2, in_two, false>;
    return last ? split52::forward_pass<3, in_three, true> : split52::forward_pass<3, in_three, false>;
  }
  static InversePass inverse_pass(int stages) {
    return stages == 2 ? split52::inverse_pass<headroom, 2> : split52::inverse_pass<headroom, 3>;
  }
  static void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                              std::size_t words, const Modulus& p) {
    split52::sum_of_products(out, a, b, terms, words, p);
  }
};

}  // namespace split52

using Two = split52::Passes<2>;    // bits of headroom: of primes of 50 bits
using Three = split52::Passes<3>;  // of all below 2^49

void forward(Word* values, const Word* coefficients, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_forward<Two> : run_forward<Three>)(values, coefficients, tables);
}
void inverse(Word* coefficients, Word* values, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_inverse<Two> : run_inverse<Three>)(coefficients, values, tables);
}
void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                     const SplitTables& tables) {
  split52::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}
void tensor_product(Word* const* out, const Word* const* a, std::size_t left, const Word* const* b,
                    std::size_t right, bool square, Word* scratch, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_tensor_product<Two>
                               : run_tensor_product<Three>)(out, a, left, b, right, square, scratch, tables);
}

}  // namespace

const SplitKernels& avx512_split52_kernels() {
  static constexpr SplitKernels table = {SplitFactorForm::quotients52, forward, inverse, sum_of_products,
                                         tensor_product};
  return table;
}

}  // namespace hemera::multiply
