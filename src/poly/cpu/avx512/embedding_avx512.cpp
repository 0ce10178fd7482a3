// The embedding kernels for AVX-512 with IFMA. The operations on doubles are those of every instruction set;
// the integers are exact, in words of 52 bits.
#if defined(__GNUC__) && !defined(__clang__)
// The intrinsics of GCC 12 start from variables that are undefined on purpose.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_scalar.hpp"
#include "poly/cpu/embedding_transform.hpp"

namespace hemera::poly::cpu {
namespace {

struct Octet {
  using Register = __m512d;
  static constexpr std::size_t width = 8;
  static constexpr int max_levels = 3;

  static __m512d load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, __m512d value) { _mm512_storeu_pd(p, value); }
  static __m512d broadcast(double value) { return _mm512_set1_pd(value); }
  static __m512d add(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
  static __m512d subtract(__m512d a, __m512d b) { return _mm512_sub_pd(a, b); }
  static __m512d multiply(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
  static void transpose(__m512d (&x)[8]) {
    __m512d a[8], b[8];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 8; i += 2) {
      a[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
      a[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
      for (std::size_t j = 0; j < 2; ++j) {
        b[i + j] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0x88);      // lanes 0, 2 of both
        b[i + j + 2] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0xdd);  // lanes 1, 3
      }
    }
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      x[j] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0x88);
      x[j + 4] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0xdd);
    }
  }
  static void load_complex(const double* p, __m512d& real, __m512d& imaginary) {
    const __m512d first = load(p);
    const __m512d second = load(p + 8);
    real = _mm512_permutex2var_pd(first, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), second);
    imaginary = _mm512_permutex2var_pd(first, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), second);
  }
  static void store_complex(double* p, __m512d real, __m512d imaginary) {
    store(p, _mm512_permutex2var_pd(real, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), imaginary));
    store(p + 8, _mm512_permutex2var_pd(real, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), imaginary));
  }
};

__mmask8 lanes(std::size_t count) { return static_cast<__mmask8>(count >= 8 ? 0xff : (1U << count) - 1); }

std::uint64_t largest(const double* values, std::size_t count) {
  const __m512i magnitude = _mm512_set1_epi64(0x7fffffffffffffff);
  __m512i result = _mm512_setzero_si512();
  for (std::size_t i = 0; i < count; i += 8) {
    const __m512i bits = _mm512_maskz_loadu_epi64(lanes(count - i), values + i);
    result = _mm512_max_epu64(result, _mm512_and_si512(bits, magnitude));
  }
  return static_cast<std::uint64_t>(_mm512_reduce_max_epu64(result));
}

// With p + e = value * scale exactly (the fused operation serves only to find e): the nearest integer to p,
// corrected by that to e where p is large, and by one where p lies half-way and e points away from the even
// neighbour.
void round_scaled(std::int64_t* out, const double* values, std::size_t count, const Scale& scale) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m512d factor = _mm512_set1_pd(scale.value);
  const __m512d sign = _mm512_set1_pd(-0.0);
  const __m512i one = _mm512_set1_epi64(1);
  for (std::size_t i = 0; i < count; i += 8) {
    const __mmask8 active = lanes(count - i);
    const __m512d value = _mm512_maskz_loadu_pd(active, values + i);
    const __m512d product = _mm512_mul_pd(value, factor);
    const __m512d error = _mm512_fmsub_pd(value, factor, product);
    const __m512d rounded = _mm512_roundscale_pd(product, nearest);
    const __m512d rest = _mm512_sub_pd(product, rounded);
    __m512i integer = _mm512_add_epi64(_mm512_cvtpd_epi64(rounded), _mm512_cvtpd_epi64(error));
    const __mmask8 tie = _mm512_cmp_pd_mask(_mm512_andnot_pd(sign, rest), _mm512_set1_pd(0.5), _CMP_EQ_OQ);
    const __mmask8 up =
        _mm512_mask_cmp_pd_mask(tie, _mm512_min_pd(rest, error), _mm512_setzero_pd(), _CMP_GT_OQ);
    const __mmask8 down =
        _mm512_mask_cmp_pd_mask(tie, _mm512_max_pd(rest, error), _mm512_setzero_pd(), _CMP_LT_OQ);
    integer = _mm512_mask_add_epi64(integer, up, integer, one);
    integer = _mm512_mask_sub_epi64(integer, down, integer, one);
    _mm512_mask_storeu_epi64(out + i, active, integer);
  }
}

void lift(std::uint64_t* out, const std::int64_t* values, std::size_t count, const arith::Modulus& modulus) {
  const __m512i q = _mm512_set1_epi64(static_cast<std::int64_t>(modulus.value()));
  for (std::size_t i = 0; i < count; i += 8) {
    const __mmask8 active = lanes(count - i);
    const __m512i value = _mm512_maskz_loadu_epi64(active, values + i);
    _mm512_mask_storeu_epi64(out + i, active, _mm512_min_epu64(value, _mm512_add_epi64(value, q)));
  }
}

// The quotient by a product of doubles is at most 7/8 off for |value| <= 2^62 and q >= 2^12, so the remainder
// lies in
// (-q, q).
void reduce(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
            const arith::Modulus& modulus) {
  if (smaller_than_modulus(magnitude_bits, modulus.value())) return lift(out, values, count, modulus);
  if (modulus.value() < 4096) return reduce_scalar(out, values, count, magnitude_bits, modulus);
  const __m512i q = _mm512_set1_epi64(static_cast<std::int64_t>(modulus.value()));
  const __m512d inverse = _mm512_set1_pd(1.0 / static_cast<double>(modulus.value()));
  for (std::size_t i = 0; i < count; i += 8) {
    const __mmask8 active = lanes(count - i);
    const __m512i value = _mm512_maskz_loadu_epi64(active, values + i);
    const __m512i quotient = _mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_cvtepi64_pd(value), inverse));
    const __m512i remainder = _mm512_sub_epi64(value, _mm512_mullo_epi64(quotient, q));
    _mm512_mask_storeu_epi64(out + i, active, _mm512_min_epu64(remainder, _mm512_add_epi64(remainder, q)));
  }
}

constexpr std::int64_t word_mask = (std::int64_t{1} << 52) - 1;

__m512i multiply_low(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52lo_epu64(sum, a, b); }
__m512i multiply_high(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52hi_epu64(sum, a, b); }
__m512i constant(std::uint64_t value) { return _mm512_set1_epi64(static_cast<std::int64_t>(value)); }
__m512i load_word(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
void store_word(std::uint64_t* p, __m512i value) { _mm512_storeu_si512(p, value); }

// magnitude (at most 63 bits, correctly rounded by the conversion) * 2^exponent / divisor; as in the scalar
// kernel.
__m512d finish(__m512i magnitude, __mmask8 negative, __m512i exponent, double divisor) {
  const __m512d quotient = _mm512_div_pd(_mm512_cvtepi64_pd(magnitude), _mm512_set1_pd(divisor));
  exponent = _mm512_max_epi64(_mm512_min_epi64(exponent, _mm512_set1_epi64(2046)), _mm512_set1_epi64(-2044));
  const __m512i first = _mm512_srai_epi64(exponent, 1);
  const __m512i second = _mm512_sub_epi64(exponent, first);
  const auto power = [](__m512i e) {
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_add_epi64(e, _mm512_set1_epi64(1023)), 52));
  };
  const __m512d scaled = _mm512_mul_pd(_mm512_mul_pd(quotient, power(first)), power(second));
  return _mm512_mask_xor_pd(scaled, negative, scaled, _mm512_set1_pd(-0.0));
}

__m512i load_residues(const std::uint64_t* limb, std::size_t stride, __mmask8 active) {
  if (stride == 1) return _mm512_maskz_loadu_epi64(active, limb);
  const __m512i index = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), constant(stride));
  return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), active, index, limb, 8);
}

// v = floor((t2 t1 t0) * reciprocal / 2^155 + 1/2 - 2^-103) as two words; the product of the lowest words is
// left out but for its high part. Below the quotient of sum / Q' by less than 2^-32, before the 1/2 and the
// floor.
void quotient(__m512i (&v)[2], __m512i t0, __m512i t1, __m512i t2, const Centering& c) {
  const __m512i mask = _mm512_set1_epi64(word_mask);
  const __m512i r0 = constant(c.reciprocal_low);
  const __m512i r1 = constant(c.reciprocal_high);
  __m512i column1 = multiply_low(multiply_high(mask, t0, r0), t0, r1);
  column1 = multiply_low(column1, t1, r0);
  __m512i column2 = multiply_high(_mm512_set1_epi64(word_mask >> 2), t0, r1);
  column2 = multiply_low(multiply_high(column2, t1, r0), t1, r1);
  column2 = multiply_low(column2, t2, r0);
  column2 = _mm512_add_epi64(column2, _mm512_srli_epi64(column1, 52));
  __m512i column3 = multiply_high(_mm512_srli_epi64(column2, 52), t1, r1);
  column3 = multiply_low(multiply_high(column3, t2, r0), t2, r1);
  const __m512i column4 = multiply_high(_mm512_srli_epi64(column3, 52), t2, r1);
  column2 = _mm512_and_si512(column2, mask);
  column3 = _mm512_and_si512(column3, mask);
  v[0] =
      _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(column2, 51), _mm512_slli_epi64(column3, 1)), mask);
  v[1] = _mm512_or_si512(_mm512_srli_epi64(column3, 51), _mm512_slli_epi64(column4, 1));
}

// Highest word that is not zero, the two next ones, and whether anything is below: updated word by word from
// the lowest.
struct Leading {
  __m512i first = _mm512_setzero_si512();
  __m512i second = _mm512_setzero_si512();
  __m512i third = _mm512_setzero_si512();
  __m512i rest = _mm512_setzero_si512();
  __m512i position = _mm512_setzero_si512();
  __m512i before = _mm512_setzero_si512();
  __m512i before_that = _mm512_setzero_si512();
  __m512i lower = _mm512_setzero_si512();

  void add(__m512i word, std::size_t index) {
    const __mmask8 found = _mm512_test_epi64_mask(word, word);
    first = _mm512_mask_mov_epi64(first, found, word);
    second = _mm512_mask_mov_epi64(second, found, before);
    third = _mm512_mask_mov_epi64(third, found, before_that);
    rest = _mm512_mask_mov_epi64(rest, found, lower);
    position = _mm512_mask_mov_epi64(position, found, constant(index));
    lower = _mm512_or_si512(lower, before_that);
    before_that = before;
    before = word;
  }
};

// sum = x_1 C_1 + ... + x_k C_k for `groups` vectors of eight coefficients; x is [limb, group], in two words
// (the high ones after all low ones) unless `narrow`.
template <std::size_t groups, bool narrow>
void weighted_sum(std::uint64_t* sum, const std::uint64_t* x, const Centering& c) {
  constexpr std::size_t row = 8 * groups;
  const __m512i mask = _mm512_set1_epi64(word_mask);
  const std::uint64_t* x_high = x + c.limbs * row;
  __m512i carry[groups], next[groups];
  for (std::size_t g = 0; g < groups; ++g) carry[g] = next[g] = _mm512_setzero_si512();
  const std::uint64_t* weights = c.weights;
  for (std::size_t w = 0; w < c.words; ++w, weights += c.limbs) {
    __m512i column0[groups], column1[groups], column1_high[groups], column2[groups];
    for (std::size_t g = 0; g < groups; ++g) {
      column0[g] = column1[g] = column1_high[g] = column2[g] = _mm512_setzero_si512();
    }
    for (std::size_t i = 0; i < c.limbs; ++i) {
      const __m512i weight = constant(weights[i]);
#pragma GCC unroll 2
      for (std::size_t g = 0; g < groups; ++g) {
        const __m512i low = load_word(x + i * row + 8 * g);
        column0[g] = multiply_low(column0[g], low, weight);
        column1[g] = multiply_high(column1[g], low, weight);
        if constexpr (!narrow) {
          const __m512i high = load_word(x_high + i * row + 8 * g);
          column1_high[g] = multiply_low(column1_high[g], high, weight);
          column2[g] = multiply_high(column2[g], high, weight);
        }
      }
    }
#pragma GCC unroll 2
    for (std::size_t g = 0; g < groups; ++g) {
      const __m512i word = _mm512_add_epi64(column0[g], carry[g]);
      store_word(sum + w * row + 8 * g, _mm512_and_si512(word, mask));
      carry[g] = _mm512_add_epi64(_mm512_add_epi64(next[g], column1[g]),
                                  _mm512_add_epi64(column1_high[g], _mm512_srli_epi64(word, 52)));
      next[g] = column2[g];
    }
  }
  for (std::size_t g = 0; g < groups; ++g) {
    store_word(sum + c.words * row + 8 * g, _mm512_and_si512(carry[g], mask));
    store_word(sum + (c.words + 1) * row + 8 * g, _mm512_add_epi64(next[g], _mm512_srli_epi64(carry[g], 52)));
  }
}

// The sum of one vector of coefficients, words `row` apart, to doubles: the steps of the scalar kernel.
__m512d center_sum(std::uint64_t* sum, std::size_t row, const Centering& c) {
  const __m512i mask = _mm512_set1_epi64(word_mask);
  const __m512i zero = _mm512_setzero_si512();
  const std::size_t words = c.words;
  __m512i v[2];
  quotient(v, load_word(sum + (words - 1) * row), load_word(sum + words * row),
           load_word(sum + (words + 1) * row), c);
  // sum += v * complement, modulo 2^(52 (words + 1)); `borrow` (0 or -1) is that of half - sum.
  __m512i carry = zero, next = zero, borrow = zero, word = zero;
  for (std::size_t w = 0; w <= words; ++w) {
    const __m512i factor = constant(c.complement[w]);
    word = multiply_low(_mm512_add_epi64(load_word(sum + w * row), carry), v[0], factor);
    carry = multiply_low(multiply_high(next, v[0], factor), v[1], factor);
    carry = _mm512_add_epi64(carry, _mm512_srli_epi64(word, 52));
    next = multiply_high(zero, v[1], factor);
    word = _mm512_and_si512(word, mask);
    store_word(sum + w * row, word);
    const __m512i half = constant(w < words ? c.half[w] : 0);
    borrow = _mm512_srai_epi64(_mm512_add_epi64(_mm512_sub_epi64(half, word), borrow), 63);
  }
  const __mmask8 below_zero = _mm512_test_epi64_mask(word, _mm512_set1_epi64(std::int64_t{1} << 51));
  const auto above_half = static_cast<__mmask8>(_mm512_movepi64_mask(borrow) & ~below_zero);
  const auto negative = static_cast<__mmask8>(below_zero | above_half);

  Leading leading;
  borrow = zero;
  for (std::size_t w = 0; w < words; ++w) {
    const __m512i value = load_word(sum + w * row);
    const __m512i product = _mm512_maskz_set1_epi64(above_half, static_cast<std::int64_t>(c.product[w]));
    const __m512i difference = _mm512_add_epi64(_mm512_sub_epi64(product, value), borrow);
    borrow = _mm512_srai_epi64(difference, 63);
    leading.add(_mm512_mask_and_epi64(value, negative, difference, mask), w);
  }
  // The highest bit of the leading word, e, from its exponent as a double. Then the 63 highest bits: e + 1 of
  // the first word, up to 52 of the second and 10 - e of the third; what is cut off sets the lowest bit.
  const __m512i e = _mm512_sub_epi64(
      _mm512_srli_epi64(_mm512_castpd_si512(_mm512_cvtepi64_pd(_mm512_or_si512(leading.first, constant(1)))),
                        52),
      _mm512_set1_epi64(1023));
  // A shift by a count that is negative, so large as an unsigned one, gives zero.
  const __m512i distance = _mm512_sub_epi64(e, _mm512_set1_epi64(10));
  const __m512i right = _mm512_srlv_epi64(leading.second, distance);
  const __m512i left = _mm512_sllv_epi64(leading.second, _mm512_sub_epi64(zero, distance));
  const __m512i top = _mm512_sllv_epi64(leading.first, _mm512_sub_epi64(_mm512_set1_epi64(62), e));
  const __m512i third_distance = _mm512_add_epi64(distance, _mm512_set1_epi64(52));
  const __m512i third = _mm512_srlv_epi64(leading.third, third_distance);
  const __mmask8 cut_second = _mm512_cmpgt_epi64_mask(distance, zero);
  const __m512i cut =
      _mm512_mask_xor_epi64(zero, cut_second, leading.second, _mm512_sllv_epi64(right, distance));
  const __m512i cut_third = _mm512_xor_si512(leading.third, _mm512_sllv_epi64(third, third_distance));
  const __m512i below = _mm512_or_si512(_mm512_or_si512(cut, cut_third), leading.rest);
  __m512i magnitude = _mm512_or_si512(_mm512_or_si512(top, third), _mm512_or_si512(left, right));
  magnitude = _mm512_mask_or_epi64(magnitude, _mm512_test_epi64_mask(below, below), magnitude, constant(1));
  const __m512i exponent =
      _mm512_add_epi64(_mm512_add_epi64(_mm512_mullo_epi64(leading.position, constant(52)), e),
                       _mm512_set1_epi64(-62 - c.shift - c.divisor_exponent));
  return finish(magnitude, negative, exponent, c.divisor);
}

template <std::size_t groups, bool narrow>
void center_groups(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t first,
                   const __mmask8 (&active)[groups], const Centering& c, std::uint64_t* scratch) {
  constexpr std::size_t row = 8 * groups;
  std::uint64_t* const x_high = scratch + c.limbs * row;
  std::uint64_t* const sum = x_high + c.limbs * row;
  for (std::size_t i = 0; i < c.limbs; ++i) {
    for (std::size_t g = 0; g < groups; ++g) {
      const __m512i x = load_residues(limbs[i] + (first + 8 * g) * stride, stride, active[g]);
      if constexpr (narrow) {
        store_word(scratch + i * row + 8 * g, x);
      } else {
        store_word(scratch + i * row + 8 * g, _mm512_and_si512(x, _mm512_set1_epi64(word_mask)));
        store_word(x_high + i * row + 8 * g, _mm512_srli_epi64(x, 52));
      }
    }
  }
  weighted_sum<groups, narrow>(sum, scratch, c);
  for (std::size_t g = 0; g < groups; ++g) {
    _mm512_mask_storeu_pd(out + first + 8 * g, active[g], center_sum(sum + 8 * g, row, c));
  }
}

template <bool narrow>
void center_all(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
                const Centering& c, std::uint64_t* scratch) {
  std::size_t done = 0;
  for (; done + 16 <= count; done += 16) {
    center_groups<2, narrow>(out, limbs, stride, done, {0xff, 0xff}, c, scratch);
  }
  for (; done < count; done += 8) {
    center_groups<1, narrow>(out, limbs, stride, done, {lanes(count - done)}, c, scratch);
  }
}

void center(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
            const Centering& c, std::uint64_t* scratch) {
  if (c.limbs > 1) {
    if (c.narrow) return center_all<true>(out, limbs, stride, count, c, scratch);
    return center_all<false>(out, limbs, stride, count, c, scratch);
  }
  const __m512i modulus = constant(c.modulus);
  const __m512i half = constant(c.modulus / 2);
  for (std::size_t i = 0; i < count; i += 8) {
    const __mmask8 active = lanes(count - i);
    const __m512i x = load_residues(limbs[0] + i * stride, stride, active);
    const __mmask8 negative = _mm512_cmpgt_epu64_mask(x, half);
    const __m512i magnitude = _mm512_mask_sub_epi64(x, negative, modulus, x);
    _mm512_mask_storeu_pd(out + i, active,
                          finish(magnitude, negative, _mm512_set1_epi64(-c.divisor_exponent), c.divisor));
  }
}

}  // namespace

const EmbeddingKernels& avx512_embedding_kernels() {
  static const EmbeddingKernels kernels = [] {
    EmbeddingKernels table = EmbeddingTransform<Octet>::table("avx512");
    table.word_bits = 52;
    table.center = center;
    table.largest = largest;
    table.round_scaled = round_scaled;
    table.reduce = reduce;
    return table;
  }();
  return kernels;
}

}  // namespace hemera::poly::cpu
