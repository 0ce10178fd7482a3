// Sums of products and base conversion for AVX-512.
#include "poly/cpu/avx512/kernels_avx512.hpp"
#include "poly/cpu/avx512/sums.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using arith::Modulus;
using arith::ShoupFactor;

std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// `tile` vectors from `first` on: each operand is read in runs of several cache lines.
template <typename Sum, std::size_t tile>
[[gnu::always_inline]] inline void inner_product_tile(Word* out, const Word* const* a, const Word* const* b,
                                                      std::size_t terms, std::size_t capacity,
                                                      std::size_t first, const typename Sum::Constants& q) {
  Sum sums[tile];
  for (std::size_t begin = 0; begin < terms; begin += capacity) {
    if (begin != 0) {
      for (Sum& sum : sums) sum.fold_sum(q);
    }
    const std::size_t end = smaller(terms, begin + capacity);
    for (std::size_t term = begin; term < end; ++term) {
      const Word* x = a[term] + first;
      const Word* y = b[term] + first;
#pragma GCC unroll 8
      for (std::size_t k = 0; k < tile; ++k) sums[k].add_product(load(x + k * lanes), load(y + k * lanes));
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < tile; ++k) store(out + first + k * lanes, sums[k].reduce(q));
}

template <typename Sum, std::size_t tile>
void inner_product_with(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                        std::size_t count, const Modulus& q) {
  const auto constants = Sum::Constants::make(q);
  const std::size_t capacity = Sum::capacity(q.value(), q.value());
  std::size_t first = 0;
  for (; first + tile * lanes <= count; first += tile * lanes) {
    inner_product_tile<Sum, tile>(out, a, b, terms, capacity, first, constants);
  }
  for (; first < count; first += lanes)
    inner_product_tile<Sum, 1>(out, a, b, terms, capacity, first, constants);
}

// What a weighted sum adds to the terms.
struct Correction {
  const Word* v;          // or null
  Word negative_product;  // -product mod q
  Word negative_shift;    // -shift mod q
};

template <typename Sum, std::size_t tile>
[[gnu::always_inline]] inline void weighted_sum_tile(Word* out, const Word* const* y, const Word* weights,
                                                     std::size_t sources, std::size_t capacity,
                                                     const Correction& correction, std::size_t first,
                                                     const typename Sum::Constants& q) {
  Sum sums[tile];
  for (Sum& sum : sums) sum.low = broadcast(correction.negative_shift);
  for (std::size_t begin = 0; begin < sources; begin += capacity) {
    if (begin != 0) {
      for (Sum& sum : sums) sum.fold_sum(q);
    }
    const std::size_t end = smaller(sources, begin + capacity);
    for (std::size_t i = begin; i < end; ++i) {
      const Word* source = y[i] + first;
      const Vector weight = broadcast(weights[i]);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < tile; ++k) sums[k].add_product(load(source + k * lanes), weight);
    }
  }
  if (correction.v != nullptr) {
    const Vector weight = broadcast(correction.negative_product);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < tile; ++k)
      sums[k].add_product(load(correction.v + first + k * lanes), weight);
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < tile; ++k) store(out + first + k * lanes, sums[k].reduce(q));
}

template <typename Sum, std::size_t tile>
void weighted_sum_with(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                       Word source_bound, const Correction& correction, std::size_t count, const Modulus& q) {
  const auto constants = Sum::Constants::make(q);
  // One product more than the capacity is left for the correction.
  const std::size_t capacity = Sum::capacity(source_bound, q.value());
  std::size_t first = 0;
  for (; first + tile * lanes <= count; first += tile * lanes) {
    weighted_sum_tile<Sum, tile>(out, y, weights, sources, capacity, correction, first, constants);
  }
  for (; first < count; first += lanes) {
    weighted_sum_tile<Sum, 1>(out, y, weights, sources, capacity, correction, first, constants);
  }
}

// Kernels::quotient for moduli of any size: the halves of the terms are summed apart, below 2^32 each.
void wide_quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
                   std::size_t count) {
  const Vector half = broadcast(0xffffffff);
  for (std::size_t first = 0; first < count; first += lanes) {
    Vector low = zero();
    Vector high = broadcast(Word{1} << 31);
    for (std::size_t i = 0; i < sources; ++i) {
      Vector product_high;
      Vector product_low;
      multiply_wide(load(y[i] + first), broadcast(r[i]), product_high, product_low);
      const Vector term = bit_or(shift_left(product_high, _mm_cvtsi32_si128(65 - bits[i])),
                                 shift_right(product_low, _mm_cvtsi32_si128(bits[i] - 1)));
      low = add(low, bit_and(term, half));
      high = add(high, shift_right<32>(term));
    }
    store(v + first, shift_right<32>(add(high, shift_right<32>(low))));
  }
}

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() < max_modulus_52) {
    inner_product_with<Sum52, 8>(out, a, b, terms, count, q);
  } else {
    inner_product_with<Sum64, 4>(out, a, b, terms, count, q);
  }
}

void scale_residues(Word* y, const Word* x, const ShoupFactor& factor, bool center, std::size_t count,
                    const Modulus& a) {
  if (!center) {
    multiply_scalar(y, x, factor, count, a);
    return;
  }
  const Vector shift = broadcast((a.value() - 1) / 2);
  if (a.value() < max_modulus_52) {
    const Modulus52 modulus = Modulus52::make(a);
    const Factor52 w = Factor52::make(factor);
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector scaled = multiply52_lazy(load(x + i), w, modulus.negative_q, modulus.mask);  // [0, 2a)
      store(y + i, fold(fold(add(scaled, shift), modulus.twice_q), modulus.q));
    }
  } else {
    const Modulus64 modulus = Modulus64::make(a);
    const Factor64 w = Factor64::make(factor);
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector scaled = fold(multiply64_lazy(load(x + i), w, modulus.q), modulus.twice_q);  // [0, 2a)
      store(y + i, canonical64(add(scaled, shift), modulus));
    }
  }
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  const Correction correction{v, product == 0 ? 0 : q.value() - product, shift == 0 ? 0 : q.value() - shift};
  if (q.value() < max_modulus_52 && source_bound <= (Word{1} << 52)) {
    weighted_sum_with<Sum52, 8>(out, y, weights, sources, source_bound, correction, count, q);
  } else {
    weighted_sum_with<Sum64, 4>(out, y, weights, sources, source_bound, correction, count, q);
  }
}

void quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
              std::size_t count) {
  for (std::size_t i = 0; i < sources; ++i) {
    if (bits[i] > 52) {
      wide_quotient(v, y, r, bits, sources, count);
      return;
    }
  }
  // With z = y 2^(52 - bits) and r = top * 2^52 + bottom a term is floor(z r / 2^51) =
  // 2 (z top + high(z bottom)) + floor(low(z bottom) / 2^51). The doubled parts are summed in 52-bit pieces,
  // the last ones as they are; half of everything is then shifted by 63 in place of 64.
  constexpr std::size_t tile = 4;
  const auto run = [&](auto width, std::size_t first) __attribute__((always_inline)) {
    Vector low[width.value], high[width.value], units[width.value];
    for (std::size_t k = 0; k < width.value; ++k) low[k] = high[k] = units[k] = zero();
    for (std::size_t i = 0; i < sources; ++i) {
      const __m128i shift = _mm_cvtsi32_si128(52 - bits[i]);
      const Vector top = broadcast(r[i] >> 52);
      const Vector bottom = broadcast(r[i] & mask52);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < width.value; ++k) {
        const Vector z = shift_left(load(y[i] + first + k * lanes), shift);
        low[k] = add_high52(add_low52(low[k], z, top), z, bottom);
        high[k] = add_high52(high[k], z, top);
        units[k] = add(units[k], shift_right<51>(add_low52(zero(), z, bottom)));
      }
    }
    const Vector half = broadcast(Word{1} << 62);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < width.value; ++k) {
      const Vector carry = shift_right<52>(add(add(low[k], shift_right<1>(units[k])), half));
      store(v + first + k * lanes, shift_right<11>(add(high[k], carry)));
    }
  };
  std::size_t first = 0;
  for (; first + tile * lanes <= count; first += tile * lanes) {
    run(std::integral_constant<std::size_t, tile>{}, first);
  }
  for (; first < count; first += lanes) run(std::integral_constant<std::size_t, 1>{}, first);
}

}  // namespace hemera::poly::cpu::avx512
