// The passes of the split form of the discrete Galois transform for primes below 2^50, in double precision;
// the layout is that of avx512/split52.cpp, each eight words two vectors.
//
// Values are integers, signed, as doubles. A product by a centred factor is at most q (1/2 + 3/16 |x / q|) in
// magnitude (see multiply50): the weights lead from canonical coefficients to 1.4 q and the three stages
// after them to 4.2 q. Passes begin with values reduced to 0.51 q, and three stages lead to 2.7 q forward
// and 4.1 q backwards: all is below 8 q <= 2^53, where integers are exact.
#include "multiply/split_run.hpp"
#include "poly/cpu/avx2/transform50.hpp"

// Nothing here may be linked into code for other processors.
namespace hemera::multiply {
namespace {
namespace split50 {

using namespace poly::cpu::avx2;
using arith::Modulus;

struct Passes {
  using Forward = Modulus50;
  using Inverse = Modulus50;
  using Pass = void (*)(Word*, std::size_t, std::size_t, std::size_t, const SplitFactors&, const Modulus50&);
  static constexpr bool takes_any_left_factor = false;

  static Modulus50 make_forward(const Modulus& p) { return Modulus50::make(p); }
  static Modulus50 make_inverse(const Modulus& p) { return Modulus50::make(p); }

  // `stages` stages on 2^stages vectors; factor(index) with index = (block << stage) + group.
  template <int stages, bool backwards, typename Factor>
  [[gnu::always_inline]] static inline void butterflies(Doubles* v, std::size_t block, const Factor& factor,
                                                        const Modulus50& q) {
    poly::cpu::unrolled<poly::cpu::ButterflyIndex<stages>::count>([&](auto k) __attribute__((always_inline)) {
      using Index = poly::cpu::ButterflyIndex<stages>;
      constexpr Index at = backwards ? Index::reversed(k.value) : Index(k.value);
      const Factors50 w = factor((block << at.stage) + static_cast<std::size_t>(at.group));
      const Doubles x = v[at.x];
      if constexpr (backwards) {
        v[at.x] = add(x, v[at.y]);
        v[at.y] = multiply50(subtract(x, v[at.y]), w, q.q);
      } else {
        const Doubles product = multiply50(v[at.y], w, q.q);
        v[at.x] = add(x, product);
        v[at.y] = subtract(x, product);
      }
    });
  }

  HEMERA_VECTOR_FUNCTION Factors50 load_factor(const Word* operands, const Word* quotients) {
    return {load_doubles(operands), load_doubles(quotients)};
  }
  HEMERA_VECTOR_FUNCTION Doubles broadcast_double(const Word* p) {
    return _mm256_castsi256_pd(broadcast(*p));
  }

  static void forward_sweep(Word* values, const Word* in, std::size_t pairs, const Word* weights,
                            const SplitFactors& twiddles, const Modulus50& constants) {
    const Modulus50 q = constants;
    const std::size_t half = split_lanes * pairs;
    const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
      return Factors50{broadcast_double(twiddles.operands + k), broadcast_double(twiddles.quotients + k)};
    };
    // Four columns at a time; an entry of the weights is for eight.
    for (std::size_t j = 0; j < pairs; j += lanes) {
      const Word* entry = weights + 32 * (j - j % split_lanes) + j % split_lanes;
      Doubles re[8], im[8];
#pragma GCC unroll 8
      for (std::size_t l = 0; l < 8; ++l, entry += 4 * split_lanes) {
        const Doubles x = to_doubles(load(in + l * pairs + j));
        const Doubles y = to_doubles(load(in + half + l * pairs + j));
        const Factors50 cosine = load_factor(entry, entry + split_lanes);
        const Factors50 sine = load_factor(entry + 2 * split_lanes, entry + 3 * split_lanes);
        re[l] = subtract(multiply50(x, cosine, q.q), multiply50(y, sine, q.q));
        im[l] = add(multiply50(y, cosine, q.q), multiply50(x, sine, q.q));
      }
      Word* out = values + split_pair * j;
      for (Doubles* v : {re, im}) {
        butterflies<3, false>(v, 0, factor, q);
        transpose(v);
        transpose(v + lanes);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < lanes; ++i) {
          store_doubles(out + split_pair * i, v[i]);
          store_doubles(out + split_pair * i + lanes, v[lanes + i]);
        }
        out += split_lanes;
      }
    }
  }

  static void inverse_sweep(Word* out, const Word* values, std::size_t pairs, const Word* weights,
                            const SplitFactors& twiddles, const Modulus50& constants) {
    const Modulus50 q = constants;
    const std::size_t half = split_lanes * pairs;
    const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
      return Factors50{broadcast_double(twiddles.operands + k), broadcast_double(twiddles.quotients + k)};
    };
    for (std::size_t j = 0; j < pairs; j += lanes) {
      Doubles re[8], im[8];
      const Word* in = values + split_pair * j;
      for (Doubles* v : {re, im}) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < lanes; ++i) {
          v[i] = load_doubles(in + split_pair * i);
          v[lanes + i] = load_doubles(in + split_pair * i + lanes);
        }
        in += split_lanes;
        transpose(v);
        transpose(v + lanes);
        butterflies<3, true>(v, 0, factor, q);
      }
      const Word* entry = weights + 32 * (j - j % split_lanes) + j % split_lanes;
#pragma GCC unroll 8
      for (std::size_t l = 0; l < 8; ++l, entry += 4 * split_lanes) {
        const Factors50 cosine = load_factor(entry, entry + split_lanes);
        const Factors50 sine = load_factor(entry + 2 * split_lanes, entry + 3 * split_lanes);
        const Doubles x = subtract(multiply50(re[l], cosine, q.q), multiply50(im[l], sine, q.q));
        const Doubles y = add(multiply50(im[l], cosine, q.q), multiply50(re[l], sine, q.q));
        store(out + l * pairs + j, canonical50(reduce50(x, q), q));
        store(out + half + l * pairs + j, canonical50(reduce50(y, q), q));
      }
    }
  }

  // Reduces its inputs forward, its results backwards; forward, the last pass its results as well.
  template <int stages, bool backwards, bool last>
  static void pass(Word* data, std::size_t block, std::size_t blocks, std::size_t stride,
                   const SplitFactors& twiddles, const Modulus50& constants) {
    constexpr std::size_t width = std::size_t{1} << stages;
    const Modulus50 q = constants;
    for (std::size_t b = 0; b < blocks; ++b, ++block, data += split_pair * width * stride) {
      // Real and imaginary parts, two halves each.
      for (std::size_t j = 0; j < split_pair / lanes * stride; ++j) {
        const std::size_t lane = j % 2 * lanes;
        const auto factor = [&](std::size_t k) __attribute__((always_inline)) {
          const std::size_t at = split_lanes * k + lane;
          return load_factor(twiddles.operands + at, twiddles.quotients + at);
        };
        Word* rows = data + lanes * j;
        Doubles v[width];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < width; ++i) {
          v[i] = load_doubles(rows + split_pair * stride * i);
          if (!backwards) v[i] = reduce50(v[i], q);
        }
        butterflies<stages, backwards>(v, block, factor, q);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < width; ++i) {
          store_doubles(rows + split_pair * stride * i, backwards || last ? reduce50(v[i], q) : v[i]);
        }
      }
    }
  }
  static Pass forward_pass(int stages, bool last) {
    if (stages == 2) return last ? pass<2, false, true> : pass<2, false, false>;
    return last ? pass<3, false, true> : pass<3, false, false>;
  }
  static Pass inverse_pass(int stages) { return stages == 2 ? pass<2, true, false> : pass<3, true, false>; }

  // Reduced factors; reduced.
  static void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                              std::size_t words, const Modulus& p) {
    const Modulus50 q = Modulus50::make(p);
    for (std::size_t j = 0; j < words; j += j % split_lanes == 0 ? lanes : split_pair - lanes) {
      Doubles re = _mm256_setzero_pd(), im = _mm256_setzero_pd();
      for (std::size_t k = 0; k < terms; ++k) {
        const Doubles a_re = load_doubles(a[k] + j), a_im = load_doubles(a[k] + j + split_lanes);
        const Doubles b_re = load_doubles(b[k] + j), b_im = load_doubles(b[k] + j + split_lanes);
        re = reduce50(add(re, subtract(multiply50(a_re, b_re, q), multiply50(a_im, b_im, q))), q);
        im = reduce50(add(im, add(multiply50(a_re, b_im, q), multiply50(a_im, b_re, q))), q);
      }
      store_doubles(out + j, re);
      store_doubles(out + j + split_lanes, im);
    }
  }
};

}  // namespace split50
}  // namespace

const SplitKernels& avx2_split50_kernels() {
  static constexpr SplitKernels table = run_kernels<split50::Passes>(SplitFactorForm::doubles);
  return table;
}

}  // namespace hemera::multiply
