// Sums of products for AVX2.
#include "poly/cpu/avx2/arithmetic50.hpp"
#include "poly/cpu/vector/quotient.hpp"
#include "poly/cpu/vector/sums.hpp"

namespace hemera::poly::cpu::avx2 {
namespace {

using arith::uint128;

constexpr Word mask25 = (Word{1} << 25) - 1;

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

  /// Each part grows by less than 2^53 a product.
  static std::size_t capacity(Word, Word) { return 512; }

  struct Constants {
    Modulus50 modulus;
    Factors50 radix50;  // 2^50 mod q
    Factors50 radix82;  // 2^82 mod q

    static Constants make(const Modulus& q) {
      const uint128 ratio = static_cast<uint128>(q.ratio_high()) << 64 | q.ratio_low();  // floor(2^128 / q)
      const Modulus50 modulus = Modulus50::make(q);
      const Word rest50 = (Word{1} << 50) - static_cast<Word>(ratio >> 78) * q.value();
      const Word rest82 = Word{0} - static_cast<Word>(ratio >> 46) * q.value();
      return {modulus, Factors50::make(rest50, modulus), Factors50::make(rest82, modulus)};
    }
  };

  [[gnu::always_inline]] static inline Split operand(Vector x) { return Split::of(x); }
  [[gnu::always_inline]] static inline Split weight(Word w) {
    return {broadcast(w & mask25), broadcast(w >> 25)};
  }
  [[gnu::always_inline]] inline void start(Word residue) { low = broadcast(residue); }
  [[gnu::always_inline]] inline void add_product(const Split& a, const Split& b) {
    low = add(low, multiply_halves(a.low, b.low));
    middle = add(middle, add(multiply_halves(a.low, b.high), multiply_halves(a.high, b.low)));
    high = add(high, multiply_halves(a.high, b.high));
  }
  [[gnu::always_inline]] inline void add_quotient(Vector v, Word w, const Constants& /*c*/) {
    add_product(Split::of(v), weight(w));
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

constexpr std::size_t tile = 2;

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() >= max_modulus_52) return scalar_kernels().inner_product(out, a, b, terms, count, q);
  inner_product_with<Sum, tile>(out, a, b, terms, count, q);
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  if (q.value() >= max_modulus_52 || source_bound > (Word{1} << 52)) {
    return scalar_kernels().weighted_sum(out, y, weights, sources, source_bound, v, product, shift, count, q);
  }
  const Correction correction = Correction::of(v, product, shift, q);
  weighted_sum_with<Sum, tile>(out, y, weights, sources, source_bound, correction, count, q);
}

bool quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
              std::size_t count) {
  return wide_quotient(v, y, r, bits, sources, count);
}

}  // namespace hemera::poly::cpu::avx2
