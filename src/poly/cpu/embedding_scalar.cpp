// The embedding kernels of every processor: pairs of doubles, integers for everything that must be exact.
#include "poly/cpu/embedding_scalar.hpp"

#include <cstring>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_transform.hpp"

namespace hemera::poly::cpu {
namespace {

using arith::multiply_wide;
using arith::uint128;

// Two doubles: SSE2, NEON, or what the compiler makes of it.
struct Pair {
  typedef double Register __attribute__((vector_size(16)));
  static constexpr std::size_t width = 2;
  static constexpr int max_levels = 2;

  static Register load(const double* p) {
    Register value;
    std::memcpy(&value, p, sizeof(value));
    return value;
  }
  static void store(double* p, Register value) { std::memcpy(p, &value, sizeof(value)); }
  static Register broadcast(double value) { return Register{value, value}; }
  static Register add(Register a, Register b) { return a + b; }
  static Register subtract(Register a, Register b) { return a - b; }
  static Register multiply(Register a, Register b) { return a * b; }
  static void transpose(Register (&x)[2]) {
    const Register first = {x[0][0], x[1][0]};
    x[1] = Register{x[0][1], x[1][1]};
    x[0] = first;
  }
  static void load_complex(const double* p, Register& real, Register& imaginary) {
    Register x[2] = {load(p), load(p + 2)};
    transpose(x);
    real = x[0];
    imaginary = x[1];
  }
  static void store_complex(double* p, Register real, Register imaginary) {
    Register x[2] = {real, imaginary};
    transpose(x);
    store(p, x[0]);
    store(p + 2, x[1]);
  }
};

// One double, for few slots.
struct Single {
  using Register = double;
  static constexpr std::size_t width = 1;
  static constexpr int max_levels = 2;

  static double load(const double* p) { return *p; }
  static void store(double* p, double value) { *p = value; }
  static double broadcast(double value) { return value; }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static void transpose(double (&)[1]) {}
  static void load_complex(const double* p, double& real, double& imaginary) {
    real = p[0];
    imaginary = p[1];
  }
  static void store_complex(double* p, double real, double imaginary) {
    p[0] = real;
    p[1] = imaginary;
  }
};

constexpr std::uint64_t select(std::uint64_t mask, std::uint64_t if_set, std::uint64_t if_clear) {
  return (if_set & mask) | (if_clear & ~mask);
}
constexpr std::uint64_t low(uint128 a) { return static_cast<std::uint64_t>(a); }
constexpr std::uint64_t high(uint128 a) { return static_cast<std::uint64_t>(a >> 64); }

// A word of x_1 C_1 + ... + x_k C_k with its carry: eight products of 61 and 64 bits fit 128 bits.
struct Sum {
  uint128 low = 0;
  std::uint64_t high = 0;

  void add(uint128 a) {
    low += a;
    high += static_cast<std::uint64_t>(low < a);
  }
  // The lowest word; the rest stays.
  std::uint64_t take() {
    const auto word = static_cast<std::uint64_t>(low);
    low = (low >> 64) | (static_cast<uint128>(high) << 64);
    high = 0;
    return word;
  }
};

// v = floor((t2 t1 t0) * reciprocal / 2^191 + 1/2 - 2^-127), as two words; products below 2^64 are left out.
// The quotient of sum / Q' is at least that one and less than 2^-50 above, before the 1/2 and the floor.
void quotient(std::uint64_t (&v)[2], const std::uint64_t* top, const Centering& c) {
  const uint128 p00 = multiply_wide(top[0], c.reciprocal_low);
  const uint128 p01 = multiply_wide(top[0], c.reciprocal_high);
  const uint128 p10 = multiply_wide(top[1], c.reciprocal_low);
  const uint128 p11 = multiply_wide(top[1], c.reciprocal_high);
  const uint128 p20 = multiply_wide(top[2], c.reciprocal_low);
  const uint128 p21 = multiply_wide(top[2], c.reciprocal_high);
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  const uint128 column1 = static_cast<uint128>(ones) + high(p00) + low(p01) + low(p10);
  const uint128 column2 =
      static_cast<uint128>(ones >> 2) + high(column1) + high(p01) + high(p10) + low(p11) + low(p20);
  const uint128 column3 = static_cast<uint128>(high(column2)) + high(p11) + high(p20) + low(p21);
  const std::uint64_t column4 = high(column3) + high(p21);
  v[0] = (low(column2) >> 63) | (low(column3) << 1);
  v[1] = (low(column3) >> 63) | (column4 << 1);
}

// `fixed_words` 0: any number.
template <std::size_t fixed_words>
double center_one(const std::uint64_t* x, std::uint64_t* sum, const Centering& c) {
  const std::size_t words = fixed_words != 0 ? fixed_words : c.words;
  Sum carry;
  const std::uint64_t* weights = c.weights;
  for (std::size_t w = 0; w < words; ++w, weights += c.limbs) {
    std::size_t i = 0;
    for (; i + 8 <= c.limbs; i += 8) {
      uint128 part = 0;
#pragma GCC unroll 8
      for (std::size_t j = i; j < i + 8; ++j) part += multiply_wide(x[j], weights[j]);
      carry.add(part);
    }
    uint128 part = 0;
    for (; i < c.limbs; ++i) part += multiply_wide(x[i], weights[i]);
    carry.add(part);
    sum[w] = carry.take();
  }
  sum[words] = carry.take();
  sum[words + 1] = carry.take();

  std::uint64_t v[2];
  quotient(v, sum + words - 1, c);
  // sum += v * complement, modulo 2^(64 (words + 1)): now in [-Q'/2, Q'/2 + Q' 2^-50]. `borrow` is that of
  // half - sum.
  Sum column;
  uint128 previous = 0;
  std::uint64_t borrow = 0;
  for (std::size_t w = 0; w <= words; ++w) {
    column.add(previous);
    column.add(multiply_wide(v[0], c.complement[w]));
    column.add(sum[w]);
    previous = multiply_wide(v[1], c.complement[w]);
    sum[w] = column.take();
    const std::uint64_t half = w < words ? c.half[w] : 0;
    const uint128 difference = static_cast<uint128>(half) - sum[w] - borrow;
    borrow = high(difference) & 1;
  }
  const std::uint64_t below_zero = 0 - (sum[words] >> 63);
  const std::uint64_t above_half = (0 - borrow) & ~below_zero;
  const std::uint64_t negative = below_zero | above_half;
  LeadingWords magnitude;
  borrow = 0;
  for (std::size_t w = 0; w < words; ++w) {
    const uint128 difference = static_cast<uint128>(c.product[w] & above_half) - sum[w] - borrow;
    borrow = high(difference) & 1;
    magnitude.push(select(negative, low(difference), sum[w]), static_cast<int>(w));
  }
  return magnitude.divided(negative, -c.shift - c.divisor_exponent, c.divisor);
}

template <std::size_t fixed_words>
void center_words(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
                  const Centering& c, std::uint64_t* scratch) {
  std::uint64_t* sum = scratch + c.limbs;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < c.limbs; ++i) scratch[i] = limbs[i][k * stride];
    out[k] = center_one<fixed_words>(scratch, sum, c);
  }
}

void center_single(double* out, const std::uint64_t* limb, std::size_t stride, std::size_t count,
                   const Centering& c) {
  const std::uint64_t half = c.modulus / 2;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t x = limb[k * stride];
    const std::uint64_t negative = 0 - ((half - x) >> 63);
    out[k] = rounded_quotient(select(negative, c.modulus - x, x), negative, -c.divisor_exponent, c.divisor);
  }
}

}  // namespace

void center_scalar(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
                   const Centering& c, std::uint64_t* scratch) {
  if (c.limbs == 1) return center_single(out, limbs[0], stride, count, c);
  switch (c.words) {
    case 2:
      return center_words<2>(out, limbs, stride, count, c, scratch);
    case 3:
      return center_words<3>(out, limbs, stride, count, c, scratch);
    default:
      return center_words<0>(out, limbs, stride, count, c, scratch);
  }
}

std::uint64_t largest_scalar(const double* values, std::size_t count) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(values[i]) & ~(std::uint64_t{1} << 63);
    result = bits > result ? bits : result;
  }
  return result;
}

void round_scaled_scalar(std::int64_t* out, const double* values, std::size_t count, const Scale& scale) {
  for (std::size_t i = 0; i < count; ++i) {
    const ScaledInteger value = scaled_integer(values[i], scale);
    // At most 2^62, and the product of normal mantissas is at least 2^104: the shift is 0.
    out[i] = static_cast<std::int64_t>((value.low ^ value.negative) - value.negative);
  }
}

void reduce_scalar(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
                   const arith::Modulus& q) {
  if (smaller_than_modulus(magnitude_bits, q.value())) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] =
          static_cast<std::uint64_t>(values[i]) + (q.value() & static_cast<std::uint64_t>(values[i] >> 63));
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = q.reduce_signed(values[i]);
}

const EmbeddingKernels& scalar_embedding_kernels() {
  static const EmbeddingKernels kernels = EmbeddingTransform<Pair>::table("scalar");
  return kernels;
}

const EmbeddingKernels& single_embedding_kernels() {
  static const EmbeddingKernels kernels = EmbeddingTransform<Single>::table("single");
  return kernels;
}

}  // namespace hemera::poly::cpu
