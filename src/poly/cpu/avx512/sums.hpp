// Sums of products modulo q, accumulated without reduction in 52-bit pieces.
#pragma once

#include <cassert>

#include "poly/cpu/avx512/arithmetic52.hpp"
#include "poly/cpu/avx512/arithmetic64.hpp"

namespace hemera::poly::cpu::avx512 {

/// The words of products as the loops of poly/cpu/vector/sums.hpp take them, and the parts of sums whose low
/// one may start from a residue.
template <typename Sum>
struct WordSum {
  Vector low = zero();

  [[gnu::always_inline]] static inline Vector operand(Vector x) { return x; }
  [[gnu::always_inline]] static inline Vector weight(Word w) { return broadcast(w); }
  [[gnu::always_inline]] inline void start(Word residue) { low = broadcast(residue); }
  template <typename Constants>
  [[gnu::always_inline]] inline void add_quotient(Vector v, Word w, const Constants& /*q*/) {
    static_cast<Sum*>(this)->add_product(v, broadcast(w));
  }
};

/// sum a_i b_i for q < 2^50, a_i < 2^52, b_i < q: sum = high * 2^52 + low.
struct Sum52 : WordSum<Sum52> {
  Vector high = zero();

  using Constants = Modulus52;

  /// How many products with a < a_bound <= 2^52 and b < q may be added before `fold`; at least 2.
  static std::size_t capacity(Word a_bound, Word q) {
    // high < terms * (a_bound * q / 2^52), low / 2^52 < terms + 1; both together stay below 2^52.
    const Word high = static_cast<Word>((static_cast<arith::uint128>(a_bound) * q) >> 52) + 2;
    const Word terms = ((Word{1} << 52) - 1) / high;
    return terms < 2048 ? static_cast<std::size_t>(terms) - 1 : 2047;
  }

  [[gnu::always_inline]] inline void add_product(Vector a, Vector b) {
    low = add_low52(low, a, b);
    high = add_high52(high, a, b);
  }
  [[gnu::always_inline]] inline void fold_sum(const Modulus52& q) {
    low = reduce_sum52_lazy(high, low, q);
    high = zero();
  }
  [[gnu::always_inline]] inline Vector reduce(const Modulus52& q) const { return reduce_sum52(high, low, q); }
};

/// The same for q < 2^55 and a_i < 2^55. The sum by the heads of the products, their words less 3 bits, is
/// too small by less than 2^64, so the low word gives the rest: a product is too small by less than 2^3 (a +
/// b) + 2^58 < 3 * 2^58.
struct Sum55 : WordSum<Sum55> {
  Vector head = zero();  // times 2^58

  using Constants = Modulus64;
  static constexpr Word bound = Word{1} << 55;

  /// 21 products and a residue would do.
  static std::size_t capacity(Word, Word) { return 20; }

  [[gnu::always_inline]] inline void add_product(Vector a, Vector b) {
    low = add(low, multiply_low(a, b));
    head = add_high52(head, shift_right<3>(a), shift_right<3>(b));
  }
  [[gnu::always_inline]] inline void fold_sum(const Modulus64& q) {
    low = reduce(q);
    head = zero();
  }
  [[gnu::always_inline]] inline Vector reduce(const Modulus64& q) const {
    const Vector estimate = shift_left<58>(head);
    const Vector high = shift_right<6>(head);
    return reduce_wide64(add_if_below(high, low, estimate), low, q);
  }
};

/// The same for q < 2^61 and a_i < 2^61: sum = high * 2^104 + middle * 2^52 + low.
struct Sum64 : WordSum<Sum64> {
  Vector middle = zero();
  Vector high = zero();

  using Constants = Modulus64;

  /// The sum of 32 products, a residue and a last product fits 128 bits.
  static std::size_t capacity(Word, Word) { return 32; }

  [[gnu::always_inline]] inline void add_product(Vector a, Vector b) {
    const Vector a_top = shift_right<52>(a);
    const Vector b_top = shift_right<52>(b);
    low = add_low52(low, a, b);
    middle = add_high52(middle, a, b);
    middle = add_low52(middle, a, b_top);
    high = add_high52(high, a, b_top);
    middle = add_low52(middle, a_top, b);
    high = add_high52(high, a_top, b);
    high = add_low52(high, a_top, b_top);
  }
  [[gnu::always_inline]] inline void fold_sum(const Modulus64& q) {
    low = reduce(q);
    middle = zero();
    high = zero();
  }
  [[gnu::always_inline]] inline Vector reduce(const Modulus64& q) const {
    const Vector mask = broadcast(mask52);
    const Vector second = add(middle, shift_right<52>(low));
    const Vector third = add(high, shift_right<52>(second));
    assert(all_below(third, broadcast(Word{1} << 24)));  // the sum is below 2^128
    const Vector first_word = bit_or(bit_and(low, mask), shift_left<52>(second));
    const Vector second_word = add(shift_right<12>(bit_and(second, mask)), shift_left<40>(third));
    return reduce_wide64(second_word, first_word, q);
  }
};

}  // namespace hemera::poly::cpu::avx512
