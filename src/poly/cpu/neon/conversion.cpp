// Sums of products for Advanced SIMD.
#include <cassert>

#include "poly/cpu/neon/arithmetic50.hpp"
#include "poly/cpu/vector/sums.hpp"

namespace hemera::poly::cpu::neon {
namespace {

// A sum of products below 2^100 in double precision, without error, for q < 2^50.
//
// `high` starts from 2^103, so that it is a multiple of 2^51 until it reaches 2^104. A fused operation adds a
// product to it, rounded to such a multiple; what it has grown by is exact, and so is what it differs from
// the product by: an integer of magnitude up to 2^50, which goes into `low`. Eight products leave `high`
// below 2^104 and `low` within 2^53. (The cut by a large summand is ExtractScalar of S. Rump, T. Ogita, S.
// Oishi, "Accurate floating-point summation part I", 2008, section 3.)
struct Sum {
  using Constants = Modulus50;
  static std::size_t capacity(Word, Word) { return 8; }
  static constexpr double cut = 0x1p103;

  Doubles high = broadcast(cut);
  Doubles low = broadcast(0.0);
  Doubles total = broadcast(0.0);  // all before the last `fold_sum`, of magnitude at most 2 q

  [[gnu::always_inline]] static inline Doubles operand(Vector x) { return to_doubles(x); }
  [[gnu::always_inline]] static inline Doubles weight(Word w) { return to_doubles(broadcast(w)); }
  [[gnu::always_inline]] inline void start(Word residue) { total = to_doubles(broadcast(residue)); }
  [[gnu::always_inline]] inline void add_product(Doubles a, Doubles b) {
    const Doubles sum = vfmaq_f64(high, a, b);
    low = subtract(low, subtract_product(subtract(sum, high), a, b));
    high = sum;
  }
  // v is at most the number of sources.
  [[gnu::always_inline]] inline void add_quotient(Vector v, Word w, const Modulus50& q) {
    total = add(total, multiply50(to_doubles(v), Factors50::make(w, q), q.q));
  }
  // Adds to `total`, which is of magnitude at most q (1/2 + 2^-47) then. The multiple of 2^51 is at most
  // 2^103, its quotient by q at most 2^53 but for rounding, so off by less than 4: the remainder is within
  // 4.5 q, and all three parts together within 8 q <= 2^53, where integers are exact. (Only for q > 2^40 do
  // these bounds matter.)
  [[gnu::always_inline]] inline void fold_sum(const Modulus50& q) {
    assert(vminvq_f64(high) >= cut && vmaxvq_f64(high) < 2 * cut && all_within(low, 0x1p53));
    const Doubles multiple = subtract(high, broadcast(cut));
    total = reduce50(add(total, add(reduce50(multiple, q), reduce50(low, q))), q);
    high = broadcast(cut);
    low = broadcast(0.0);
  }
  [[gnu::always_inline]] inline Vector reduce(const Modulus50& q) {
    fold_sum(q);
    return canonical50(total, q);
  }
};

constexpr std::size_t tile = 4;

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() >= max_modulus_52) return scalar_kernels().inner_product(out, a, b, terms, count, q);
  inner_product_with<Sum, tile>(out, a, b, terms, count, q);
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  if (q.value() >= max_modulus_52 || source_bound > max_modulus_52) {
    return scalar_kernels().weighted_sum(out, y, weights, sources, source_bound, v, product, shift, count, q);
  }
  const Correction correction = Correction::of(v, product, shift, q);
  weighted_sum_with<Sum, tile>(out, y, weights, sources, source_bound, correction, count, q);
}

}  // namespace hemera::poly::cpu::neon
