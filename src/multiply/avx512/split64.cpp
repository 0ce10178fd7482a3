// The passes of the split form of the discrete Galois transform for primes up to 61 bits; the layout is that
// of split52.cpp, quotients are floor(w 2^64 / p).
//
// Forward, values are in [0, 8q) after the weights and after each stage, which brings x to [0, 4q) first; a
// product by a constant is in [0, 4q). Backwards they are in [0, 4q).
#include "multiply/split_run.hpp"
#include "poly/cpu/avx512/sums.hpp"
#include "poly/cpu/avx512/transform52.hpp"

// Nothing here may be linked into code for other processors.
namespace hemera::multiply {
namespace {
namespace split64 {

using namespace poly::cpu::avx512;
using arith::Modulus;

constexpr std::size_t words_of_pair = split_pair;

struct Passes {
  struct Constants {
    Vector q, twice_q, four_q;
  };
  using Forward = Constants;
  using Inverse = Constants;
  using Pass = void (*)(Word*, std::size_t, std::size_t, std::size_t, const Twiddles52&, const Constants&);
  static constexpr bool takes_any_left_factor = false;

  static Constants make_forward(const Modulus& p) {
    return {broadcast(p.value()), broadcast(2 * p.value()), broadcast(4 * p.value())};
  }
  static Constants make_inverse(const Modulus& p) { return make_forward(p); }

  // x w in [0, 4q) for any x.
  HEMERA_VECTOR_FUNCTION Vector times(Vector x, Vector w, Vector w_quotient, const Constants& c) {
    return multiply64_lazy(x, Factor64::make(w, w_quotient), c.q);
  }
  // [0, 8q) to [0, q).
  HEMERA_VECTOR_FUNCTION Vector canonical(Vector x, const Constants& c) {
    return fold(fold(fold(x, c.four_q), c.twice_q), c.q);
  }
  HEMERA_VECTOR_FUNCTION void forward_butterfly(Vector& x, Vector& y, Vector w, Vector w_quotient,
                                                const Constants& c) {
    const Vector kept = fold(x, c.four_q);
    const Vector product = times(y, w, w_quotient, c);
    x = add(kept, product);
    y = subtract(add(kept, c.four_q), product);
  }
  HEMERA_VECTOR_FUNCTION void inverse_butterfly(Vector& x, Vector& y, Vector w, Vector w_quotient,
                                                const Constants& c) {
    const Vector difference = subtract(add(x, c.four_q), y);
    x = fold(add(x, y), c.four_q);
    y = times(difference, w, w_quotient, c);
  }

  // `stages` stages on 2^stages vectors; factor(index) gives a factor and its quotient, index = (block <<
  // stage) + group as in the 52-bit passes.
  template <int stages, bool backwards, typename Factor>
  [[gnu::always_inline]] static inline void butterflies(Vector* v, std::size_t block, const Factor& factor,
                                                        const Constants& c) {
#pragma GCC unroll 3
    for (int number = 0; number < stages; ++number) {
      const int stage = backwards ? stages - 1 - number : number;
      const int half = (1 << stages) >> (stage + 1);
#pragma GCC unroll 4
      for (int group = 0; group < (1 << stage); ++group) {
        const auto [w, w_quotient] = factor((block << stage) + static_cast<std::size_t>(group));
#pragma GCC unroll 4
        for (int i = group * 2 * half; i < group * 2 * half + half; ++i) {
          if (backwards) {
            inverse_butterfly(v[i], v[i + half], w, w_quotient, c);
          } else {
            forward_butterfly(v[i], v[i + half], w, w_quotient, c);
          }
        }
      }
    }
  }
  struct Factor {
    Vector w;
    Vector w_quotient;
  };

  static void forward_sweep(Word* values, const Word* in, std::size_t pairs, const Word* weights,
                            const Twiddles52& twiddles, const Constants& c) {
    const std::size_t half = lanes * pairs;
    const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
      return Factor{broadcast(twiddles.powers[k]), broadcast(twiddles.quotients[k])};
    };
    for (std::size_t j = 0; j < pairs; j += lanes) {
      Vector re[8], im[8];
#pragma GCC unroll 8
      for (std::size_t l = 0; l < 8; ++l, weights += 4 * lanes) {
        const Vector x = load(in + l * pairs + j);
        const Vector y = load(in + half + l * pairs + j);
        const Factor cosine{load(weights), load(weights + lanes)};
        const Factor sine{load(weights + 2 * lanes), load(weights + 3 * lanes)};
        re[l] = add(times(x, cosine.w, cosine.w_quotient, c),
                    times(subtract(c.q, y), sine.w, sine.w_quotient, c));
        im[l] = add(times(y, cosine.w, cosine.w_quotient, c), times(x, sine.w, sine.w_quotient, c));
      }
      butterflies<3, false>(re, 0, factor, c);
      butterflies<3, false>(im, 0, factor, c);
      transpose(re);
      transpose(im);
      Word* out = values + words_of_pair * j;
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 8; ++i) {
        store(out + words_of_pair * i, re[i]);
        store(out + words_of_pair * i + lanes, im[i]);
      }
    }
  }

  static void inverse_sweep(Word* out, const Word* values, std::size_t pairs, const Word* weights,
                            const Twiddles52& twiddles, const Constants& c) {
    const std::size_t half = lanes * pairs;
    const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
      return Factor{broadcast(twiddles.powers[k]), broadcast(twiddles.quotients[k])};
    };
    for (std::size_t j = 0; j < pairs; j += lanes) {
      Vector re[8], im[8];
      const Word* in = values + words_of_pair * j;
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 8; ++i) {
        re[i] = load(in + words_of_pair * i);
        im[i] = load(in + words_of_pair * i + lanes);
      }
      transpose(re);
      transpose(im);
      butterflies<3, true>(re, 0, factor, c);
      butterflies<3, true>(im, 0, factor, c);
#pragma GCC unroll 8
      for (std::size_t l = 0; l < 8; ++l, weights += 4 * lanes) {
        const Factor cosine{load(weights), load(weights + lanes)};
        const Factor sine{load(weights + 2 * lanes), load(weights + 3 * lanes)};
        const Vector x = add(times(re[l], cosine.w, cosine.w_quotient, c),
                             times(subtract(c.four_q, im[l]), sine.w, sine.w_quotient, c));
        const Vector y =
            add(times(im[l], cosine.w, cosine.w_quotient, c), times(re[l], sine.w, sine.w_quotient, c));
        store(out + l * pairs + j, canonical(x, c));
        store(out + half + l * pairs + j, canonical(y, c));
      }
    }
  }

  template <int stages, bool backwards, bool last>
  static void pass(Word* data, std::size_t block, std::size_t blocks, std::size_t stride,
                   const Twiddles52& twiddles, const Constants& c) {
    constexpr std::size_t width = std::size_t{1} << stages;
    const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
      return Factor{load(twiddles.powers + lanes * k), load(twiddles.quotients + lanes * k)};
    };
    for (std::size_t b = 0; b < blocks; ++b, ++block, data += words_of_pair * width * stride) {
      for (std::size_t j = 0; j < 2 * stride; ++j) {  // real and imaginary parts
        Word* rows = data + lanes * j;
        Vector v[width];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < width; ++i) v[i] = load(rows + words_of_pair * stride * i);
        butterflies<stages, backwards>(v, block, factor, c);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < width; ++i) {
          store(rows + words_of_pair * stride * i, last ? canonical(v[i], c) : v[i]);
        }
      }
    }
  }
  static Pass forward_pass(int stages, bool last) {
    if (stages == 2) return last ? pass<2, false, true> : pass<2, false, false>;
    return last ? pass<3, false, true> : pass<3, false, false>;
  }
  static Pass inverse_pass(int stages) { return stages == 2 ? pass<2, true, false> : pass<3, true, false>; }

  // Canonical factors; canonical.
  static void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                              std::size_t words, const Modulus& p) {
    const Modulus64 q = Modulus64::make(p);
    for (std::size_t j = 0; j < words; j += words_of_pair) {
      Sum64 re, im;
      for (std::size_t k = 0; k < terms; ++k) {
        const Vector a_re = load(a[k] + j), a_im = load(a[k] + j + lanes);
        const Vector b_re = load(b[k] + j), b_im = load(b[k] + j + lanes);
        re.add_product(a_re, b_re);
        re.add_product(a_im, subtract(q.q, b_im));
        im.add_product(a_re, b_im);
        im.add_product(a_im, b_re);
      }
      store(out + j, re.reduce(q));
      store(out + j + lanes, im.reduce(q));
    }
  }
};

}  // namespace split64
}  // namespace

const SplitKernels& avx512_split64_kernels() {
  static constexpr SplitKernels table = run_kernels<split64::Passes>(SplitFactorForm::quotients64);
  return table;
}

}  // namespace hemera::multiply
