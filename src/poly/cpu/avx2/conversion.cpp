// Sums of products for AVX2.
#include "poly/cpu/avx2/arithmetic50.hpp"
#include "poly/cpu/avx2/kernels_avx2.hpp"

namespace hemera::poly::cpu::avx2 {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr Word mask25 = (Word{1} << 25) - 1;

std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// A word below 2^52 as 25 bits and the rest.
struct Split {
  Vector low;
  Vector high;

  [[gnu::always_inline]] static inline Split of(Vector x) {
    return {bit_and(x, broadcast(mask25)), shift_right<25>(x)};
  }
};

// sum a_i b_i = high 2^50 + middle 2^25 + low, for a_i < 2^52 and b_i < q < 2^50.
struct Sum {
  Vector low = zero();
  Vector middle = zero();
  Vector high = zero();

  // Products that may be added before `fold_sum`: each part grows by less than 2^53 a product.
  static constexpr std::size_t capacity = 512;

  struct Constants {
    Modulus50 modulus;
    Factor50 radix50;  // 2^50 mod q
    Factor50 radix82;  // 2^82 mod q

    static Constants make(const Modulus& q) {
      const uint128 ratio = static_cast<uint128>(q.ratio_high()) << 64 | q.ratio_low();  // floor(2^128 / q)
      const Modulus50 modulus = Modulus50::make(q);
      const Word rest50 = (Word{1} << 50) - static_cast<Word>(ratio >> 78) * q.value();
      const Word rest82 = Word{0} - static_cast<Word>(ratio >> 46) * q.value();
      return {modulus, Factor50::make(rest50, modulus), Factor50::make(rest82, modulus)};
    }
  };

  [[gnu::always_inline]] inline void add_product(const Split& a, const Split& b) {
    low = add(low, multiply_halves(a.low, b.low));
    middle = add(middle, add(multiply_halves(a.low, b.high), multiply_halves(a.high, b.low)));
    high = add(high, multiply_halves(a.high, b.high));
  }
  [[gnu::always_inline]] inline Vector reduce(const Constants& c) const {
    const Vector mask = broadcast(mask25);
    const Vector second = add(middle, shift_right<25>(low));
    const Vector third = add(high, shift_right<25>(second));
    const Vector first = add(bit_and(low, mask), shift_left<25>(bit_and(second, mask)));  // below 2^50
    // Three parts of magnitude at most 0.9 q each, as their factors are below 2^50.
    Doubles sum = reduce50(to_doubles(first), c.modulus);
    sum =
        add(sum, multiply50(to_doubles(bit_and(third, broadcast(Word{0xffffffff}))), c.radix50, c.modulus.q));
    sum = add(sum, multiply50(to_doubles(shift_right<32>(third)), c.radix82, c.modulus.q));
    return canonical50(reduce50(sum, c.modulus), c.modulus);
  }
  [[gnu::always_inline]] inline void fold_sum(const Constants& c) {
    low = reduce(c);
    middle = zero();
    high = zero();
  }
};

constexpr std::size_t tile = 2;  // vectors at a time: 8 words, which divide every count

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() >= max_modulus_52) return scalar_kernels().inner_product(out, a, b, terms, count, q);
  const Sum::Constants constants = Sum::Constants::make(q);
  for (std::size_t first = 0; first < count; first += tile * lanes) {
    Sum sums[tile];
    for (std::size_t begin = 0; begin < terms; begin += Sum::capacity) {
      if (begin != 0) {
        for (Sum& sum : sums) sum.fold_sum(constants);
      }
      const std::size_t end = smaller(terms, begin + Sum::capacity);
      for (std::size_t term = begin; term < end; ++term) {
        for (std::size_t k = 0; k < tile; ++k) {
          sums[k].add_product(Split::of(load(a[term] + first + k * lanes)),
                              Split::of(load(b[term] + first + k * lanes)));
        }
      }
    }
    for (std::size_t k = 0; k < tile; ++k) store(out + first + k * lanes, sums[k].reduce(constants));
  }
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  if (q.value() >= max_modulus_52 || source_bound > (Word{1} << 52)) {
    return scalar_kernels().weighted_sum(out, y, weights, sources, source_bound, v, product, shift, count, q);
  }
  const Sum::Constants constants = Sum::Constants::make(q);
  const Vector negative_shift = broadcast(shift == 0 ? 0 : q.value() - shift);
  const Split negative_product = Split::of(broadcast(product == 0 ? 0 : q.value() - product));
  for (std::size_t first = 0; first < count; first += tile * lanes) {
    Sum sums[tile];
    for (Sum& sum : sums) sum.low = negative_shift;
    for (std::size_t begin = 0; begin < sources; begin += Sum::capacity) {
      if (begin != 0) {
        for (Sum& sum : sums) sum.fold_sum(constants);
      }
      const std::size_t end = smaller(sources, begin + Sum::capacity);
      for (std::size_t i = begin; i < end; ++i) {
        const Split weight{broadcast(weights[i] & mask25), broadcast(weights[i] >> 25)};
        for (std::size_t k = 0; k < tile; ++k) {
          sums[k].add_product(Split::of(load(y[i] + first + k * lanes)), weight);
        }
      }
    }
    for (std::size_t k = 0; k < tile; ++k) {
      if (v != nullptr) sums[k].add_product(Split::of(load(v + first + k * lanes)), negative_product);
      store(out + first + k * lanes, sums[k].reduce(constants));
    }
  }
}

bool quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
              std::size_t count) {
  // Products of two words from their halves; the halves of the terms are summed apart, below 2^32 each.
  const Vector half = broadcast(Word{0xffffffff});
  Vector differences = broadcast(~Word{0});
  for (std::size_t first = 0; first < count; first += lanes) {
    Vector low = zero();
    Vector high = broadcast(Word{1} << 31);
    for (std::size_t i = 0; i < sources; ++i) {
      const Vector a = load(y[i] + first);
      const Vector a_high = shift_right<32>(a);
      const Vector b = broadcast(r[i]);
      const Vector b_high = broadcast(r[i] >> 32);
      const Vector bottom = multiply_halves(a, b);
      const Vector second = add(multiply_halves(a_high, b), shift_right<32>(bottom));
      const Vector third = add(multiply_halves(a, b_high), bit_and(second, half));
      const Vector product_high =
          add(multiply_halves(a_high, b_high), add(shift_right<32>(second), shift_right<32>(third)));
      const Vector product_low = add(bit_and(bottom, half), shift_left<32>(third));
      const Vector term = _mm256_or_si256(_mm256_sll_epi64(product_high, _mm_cvtsi32_si128(65 - bits[i])),
                                          _mm256_srl_epi64(product_low, _mm_cvtsi32_si128(bits[i] - 1)));
      low = add(low, bit_and(term, half));
      high = add(high, shift_right<32>(term));
    }
    high = add(high, shift_right<32>(low));
    differences = add_differences(differences, high);
    store(v + first, shift_right<32>(high));
  }
  return one_is_alike<31>(differences);
}

bool one_outside(const Word* words, Word least, Word most, std::size_t count) {
  Vector signs = zero();
  for (std::size_t i = 0; i < count; i += lanes) {
    const Vector x = load(words + i);
    signs = bit_or(signs, bit_or(subtract(x, broadcast(least)), subtract(broadcast(most), x)));
  }
  return one_is_negative(signs);
}

}  // namespace hemera::poly::cpu::avx2
