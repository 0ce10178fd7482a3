// The embedding kernels for AVX2. The operations on doubles are those of every instruction set; decoding's
// sums of word products have no AVX2 form that is faster than the scalar one.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_scalar.hpp"
#include "poly/cpu/embedding_transform.hpp"

namespace hemera::poly::cpu {
namespace {

struct Quartet {
  using Register = __m256d;
  static constexpr std::size_t width = 4;
  static constexpr int max_levels = 2;

  static __m256d load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, __m256d value) { _mm256_storeu_pd(p, value); }
  static __m256d broadcast(double value) { return _mm256_set1_pd(value); }
  static __m256d add(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
  static __m256d subtract(__m256d a, __m256d b) { return _mm256_sub_pd(a, b); }
  static __m256d multiply(__m256d a, __m256d b) { return _mm256_mul_pd(a, b); }
  static void transpose(__m256d (&x)[4]) {
    const __m256d a = _mm256_unpacklo_pd(x[0], x[1]);
    const __m256d b = _mm256_unpackhi_pd(x[0], x[1]);
    const __m256d c = _mm256_unpacklo_pd(x[2], x[3]);
    const __m256d d = _mm256_unpackhi_pd(x[2], x[3]);
    x[0] = _mm256_permute2f128_pd(a, c, 0x20);
    x[1] = _mm256_permute2f128_pd(b, d, 0x20);
    x[2] = _mm256_permute2f128_pd(a, c, 0x31);
    x[3] = _mm256_permute2f128_pd(b, d, 0x31);
  }
  static void load_complex(const double* p, __m256d& real, __m256d& imaginary) {
    const __m256d first = load(p);
    const __m256d second = load(p + 4);
    const __m256d low = _mm256_permute2f128_pd(first, second, 0x20);
    const __m256d high = _mm256_permute2f128_pd(first, second, 0x31);
    real = _mm256_unpacklo_pd(low, high);
    imaginary = _mm256_unpackhi_pd(low, high);
  }
  static void store_complex(double* p, __m256d real, __m256d imaginary) {
    const __m256d low = _mm256_unpacklo_pd(real, imaginary);
    const __m256d high = _mm256_unpackhi_pd(real, imaginary);
    store(p, _mm256_permute2f128_pd(low, high, 0x20));
    store(p + 4, _mm256_permute2f128_pd(low, high, 0x31));
  }
};

std::uint64_t largest(const double* values, std::size_t count) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  __m256d result = _mm256_setzero_pd();
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    result = _mm256_max_pd(result, _mm256_andnot_pd(sign, Quartet::load(values + i)));
  }
  alignas(32) double lanes[4];
  _mm256_store_pd(lanes, result);
  const std::uint64_t whole = largest_scalar(lanes, 4);
  const std::uint64_t rest = largest_scalar(values + i, count - i);
  return whole > rest ? whole : rest;
}

// The integer that a double of size below 2^51 is, by its bits once 3 * 2^51 has been added.
__m256i to_integer(__m256d value) {
  const __m256d magic = _mm256_set1_pd(0x1.8p52);
  return _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(value, magic)), _mm256_castpd_si256(magic));
}

// The integer that a double of size up to 2^62 is: its multiple of 2^32, and the rest.
__m256i to_large_integer(__m256d value) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m256d high = _mm256_round_pd(_mm256_mul_pd(value, _mm256_set1_pd(0x1p-32)), nearest);
  const __m256d low = _mm256_sub_pd(value, _mm256_mul_pd(high, _mm256_set1_pd(0x1p32)));
  return _mm256_add_epi64(_mm256_slli_epi64(to_integer(high), 32), to_integer(low));
}

// As for AVX-512: p + e = value * scale exactly, the fused operation serves only to find e.
void round_scaled(std::int64_t* out, const double* values, std::size_t count, const Scale& scale) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m256d factor = _mm256_set1_pd(scale.value);
  const __m256d sign = _mm256_set1_pd(-0.0);
  const __m256d zero = _mm256_setzero_pd();
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256d value = Quartet::load(values + i);
    const __m256d product = _mm256_mul_pd(value, factor);
    const __m256d error = _mm256_fmsub_pd(value, factor, product);
    const __m256d rounded = _mm256_round_pd(product, nearest);
    const __m256d rest = _mm256_sub_pd(product, rounded);
    __m256i integer =
        _mm256_add_epi64(to_large_integer(rounded), to_integer(_mm256_round_pd(error, nearest)));
    const __m256d tie = _mm256_cmp_pd(_mm256_andnot_pd(sign, rest), _mm256_set1_pd(0.5), _CMP_EQ_OQ);
    const __m256d up = _mm256_and_pd(tie, _mm256_cmp_pd(_mm256_min_pd(rest, error), zero, _CMP_GT_OQ));
    const __m256d down = _mm256_and_pd(tie, _mm256_cmp_pd(_mm256_max_pd(rest, error), zero, _CMP_LT_OQ));
    integer = _mm256_sub_epi64(integer, _mm256_castpd_si256(up));  // a mask is -1
    integer = _mm256_add_epi64(integer, _mm256_castpd_si256(down));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), integer);
  }
  round_scaled_scalar(out + i, values + i, count - i, scale);
}

void lift(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
          const arith::Modulus& modulus) {
  const __m256i q = _mm256_set1_epi64x(static_cast<std::int64_t>(modulus.value()));
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
    const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), value);
    const __m256i residue = _mm256_add_epi64(value, _mm256_and_si256(negative, q));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), residue);
  }
  reduce_scalar(out + i, values + i, count - i, magnitude_bits, modulus);
}

// For values and moduli up to 2^50 all is exact in doubles: the quotient is at most 1/2 + 2^-1 off, the
// remainder lies in
// [-q, q] and comes from one fused operation.
void reduce(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
            const arith::Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  if (smaller_than_modulus(magnitude_bits, q)) return lift(out, values, count, magnitude_bits, modulus);
  if (magnitude_bits > 50 || q > (std::uint64_t{1} << 50) || q < 16) {
    return reduce_scalar(out, values, count, magnitude_bits, modulus);
  }
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m256d magic = _mm256_set1_pd(0x1.8p52);
  const __m256d q_double = _mm256_set1_pd(static_cast<double>(q));
  const __m256d inverse = _mm256_set1_pd(1.0 / static_cast<double>(q));
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i integer = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
    const __m256d value =
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(integer, _mm256_castpd_si256(magic))), magic);
    const __m256d quotient = _mm256_round_pd(_mm256_mul_pd(value, inverse), nearest);
    const __m256d remainder = _mm256_fnmadd_pd(quotient, q_double, value);
    const __m256d negative = _mm256_cmp_pd(remainder, _mm256_setzero_pd(), _CMP_LT_OQ);
    const __m256d residue = _mm256_add_pd(remainder, _mm256_and_pd(negative, q_double));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), to_integer(residue));
  }
  reduce_scalar(out + i, values + i, count - i, magnitude_bits, modulus);
}

}  // namespace

const EmbeddingKernels& avx2_embedding_kernels() {
  static const EmbeddingKernels kernels = [] {
    EmbeddingKernels table = EmbeddingTransform<Quartet>::table("avx2");
    table.largest = largest;
    table.round_scaled = round_scaled;
    table.reduce = reduce;
    return table;
  }();
  return kernels;
}

}  // namespace hemera::poly::cpu
