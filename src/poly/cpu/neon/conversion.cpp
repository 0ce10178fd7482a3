// Sums of products for Advanced SIMD.
#include <cassert>

#include "poly/cpu/neon/arithmetic50.hpp"
#include "poly/cpu/neon/kernels_neon.hpp"

namespace hemera::poly::cpu::neon {
namespace {

using arith::Modulus;

std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// A sum of products below 2^100 in double precision, without error, for q < 2^50.
//
// `high` starts from 2^103, so that it is a multiple of 2^51 until it reaches 2^104. A fused operation adds a
// product to it, rounded to such a multiple; what it has grown by is exact, and so is what it differs from
// the product by: an integer of magnitude up to 2^50, which goes into `low`. Eight products leave `high`
// below 2^104 and `low` within 2^53. (The cut by a large summand is ExtractScalar of S. Rump, T. Ogita, S.
// Oishi, "Accurate floating-point summation part I", 2008, section 3.)
struct Sum {
  static constexpr std::size_t capacity = 8;  // products before `fold`
  static constexpr double start = 0x1p103;

  Doubles high = broadcast(start);
  Doubles low = broadcast(0.0);
  Doubles total = broadcast(0.0);  // all before the last `fold`, of magnitude at most 2 q

  [[gnu::always_inline]] inline void add_product(Doubles a, Doubles b) {
    const Doubles sum = vfmaq_f64(high, a, b);
    low = subtract(low, subtract_product(subtract(sum, high), a, b));
    high = sum;
  }
  // Adds to `total`, which is of magnitude at most q (1/2 + 2^-47) then. The multiple of 2^51 is at most
  // 2^103, its quotient by q at most 2^53 but for rounding, so off by less than 4: the remainder is within
  // 4.5 q, and all three parts together within 8 q <= 2^53, where integers are exact. (Only for q > 2^40 do
  // these bounds matter.)
  [[gnu::always_inline]] inline void fold(const Modulus50& q) {
    assert(vminvq_f64(high) >= start && vmaxvq_f64(high) < 2 * start && all_within(low, 0x1p53));
    const Doubles multiple = subtract(high, broadcast(start));
    total = reduce50(add(total, add(reduce50(multiple, q), reduce50(low, q))), q);
    high = broadcast(start);
    low = broadcast(0.0);
  }
};

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() >= max_modulus_52) return scalar_kernels().inner_product(out, a, b, terms, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  for (std::size_t first = 0; first < count; first += tile * lanes) {
    Sum sums[tile];
    for (std::size_t begin = 0; begin < terms; begin += Sum::capacity) {
      const std::size_t end = smaller(terms, begin + Sum::capacity);
      for (std::size_t term = begin; term < end; ++term) {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < tile; ++k) {
          sums[k].add_product(to_doubles(load(a[term] + first + k * lanes)),
                              to_doubles(load(b[term] + first + k * lanes)));
        }
      }
#pragma GCC unroll 4
      for (Sum& sum : sums) sum.fold(modulus);
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < tile; ++k) {
      store(out + first + k * lanes, canonical50(sums[k].total, modulus));
    }
  }
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  if (q.value() >= max_modulus_52 || source_bound > max_modulus_52) {
    return scalar_kernels().weighted_sum(out, y, weights, sources, source_bound, v, product, shift, count, q);
  }
  const Modulus50 modulus = Modulus50::make(q);
  const Doubles negative_shift = to_doubles(broadcast(shift == 0 ? 0 : q.value() - shift));
  const Factors50 negative_product = Factors50::make(product == 0 ? 0 : q.value() - product, modulus);
  for (std::size_t first = 0; first < count; first += tile * lanes) {
    Sum sums[tile];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < tile; ++k) {
      sums[k].total = negative_shift;
      if (v != nullptr) {  // v <= sources
        const Doubles quotient = to_doubles(load(v + first + k * lanes));
        sums[k].total = add(sums[k].total, multiply50(quotient, negative_product, modulus.q));
      }
    }
    for (std::size_t begin = 0; begin < sources; begin += Sum::capacity) {
      const std::size_t end = smaller(sources, begin + Sum::capacity);
      for (std::size_t i = begin; i < end; ++i) {
        const Doubles weight = to_doubles(broadcast(weights[i]));
#pragma GCC unroll 4
        for (std::size_t k = 0; k < tile; ++k) {
          sums[k].add_product(to_doubles(load(y[i] + first + k * lanes)), weight);
        }
      }
#pragma GCC unroll 4
      for (Sum& sum : sums) sum.fold(modulus);
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < tile; ++k) {
      store(out + first + k * lanes, canonical50(sums[k].total, modulus));
    }
  }
}

}  // namespace hemera::poly::cpu::neon
