#include "multiply/digits.hpp"

#include <algorithm>

namespace hemera::multiply {

using arith::uint128;
using Word = std::uint64_t;

void split_digits(Word* digits, std::span<const Word> integer, int b, std::size_t first, std::size_t count) {
  const Word mask = (Word{1} << b) - 1;
  const auto width = static_cast<std::size_t>(b);
  std::size_t bit = first * width;
  std::size_t j = 0;
  // Digits that lie in two words of the integer.
  const std::size_t inside = integer.size() < 2 ? 0 : (integer.size() - 1) * 64;
  for (; j < count && bit < inside; ++j, bit += width) {
    const Word* at = integer.data() + bit / 64;
    const uint128 both = at[0] | (static_cast<uint128>(at[1]) << 64);
    digits[j] = static_cast<Word>(both >> (bit % 64)) & mask;
  }
  for (; j < count && bit < 64 * integer.size(); ++j, bit += width) {
    digits[j] = (integer[bit / 64] >> (bit % 64)) & mask;
  }
  std::fill(digits + j, digits + count, 0);
}

namespace {

// 192 bits in two's complement.
struct Sum {
  Word low = 0, middle = 0, high = 0;

  void add(Word a0, Word a1, Word a2) {
    uint128 sum = static_cast<uint128>(low) + a0;
    low = static_cast<Word>(sum);
    sum = static_cast<uint128>(middle) + a1 + static_cast<Word>(sum >> 64);
    middle = static_cast<Word>(sum);
    high += a2 + static_cast<Word>(sum >> 64);
  }
  void shift(int b) {  // 0 < b < 64
    low = (low >> b) | (middle << (64 - b));
    middle = (middle >> b) | (high << (64 - b));
    high = static_cast<Word>(static_cast<std::int64_t>(high) >> b);
  }
};

// -(p_0 p_1 ... p_(n-1)).
Sum negative_product(const arith::Modulus* primes, std::size_t n) {
  Word words[3] = {1, 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    Word carry = 0;
    for (Word& word : words) {
      const uint128 product = static_cast<uint128>(word) * primes[i].value() + carry;
      word = static_cast<Word>(product);
      carry = static_cast<Word>(product >> 64);
    }
  }
  Sum negative{~words[0], ~words[1], ~words[2]};
  negative.add(1, 0, 0);
  return negative;
}

template <std::size_t n, bool centered>
Carry add_coefficients(std::span<Word> out, const Word* const* rows, const arith::Modulus* primes,
                       std::size_t length, int b) {
  Word p[n > 1 ? n - 1 : 1] = {};
  for (std::size_t i = 0; i + 1 < n; ++i) p[i] = primes[i].value();
  const Word mask = (Word{1} << b) - 1;
  const Word half = primes[n - 1].value() / 2;
  const Sum wrap = negative_product(primes, n);
  Sum sum;
  Word word = 0;
  int filled = 0;
  std::size_t j = 0;
  for (std::size_t at = 0; at < out.size();) {
    if (j < length) {
      // Horner's rule; the words above the ones in use are known to be zero.
      Word a0 = rows[n - 1][j], a1 = 0, a2 = 0;
      for (std::size_t i = n - 1; i-- > 0;) {
        const uint128 first = static_cast<uint128>(a0) * p[i] + rows[i][j];
        a0 = static_cast<Word>(first);
        if (i + 2 < n) {
          const uint128 second = static_cast<uint128>(a1) * p[i] + static_cast<Word>(first >> 64);
          a1 = static_cast<Word>(second);
          a2 = a2 * p[i] + static_cast<Word>(second >> 64);
        } else {
          a1 = static_cast<Word>(first >> 64);
        }
      }
      Sum coefficient{a0, a1, a2};
      if constexpr (centered) {
        const Word negative = rows[n - 1][j] > half ? ~Word{0} : 0;
        coefficient.add(wrap.low & negative, wrap.middle & negative, wrap.high & negative);
      }
      sum.add(coefficient.low, coefficient.middle, coefficient.high);
    }
    ++j;
    const Word digit = sum.low & mask;
    word |= digit << filled;
    filled += b;
    if (filled >= 64) {
      out[at++] = word;
      filled -= 64;
      word = filled == 0 ? 0 : digit >> (b - filled);
    }
    sum.shift(b);
  }
  // Bits of the last digit that went beyond the range belong to the carry.
  Carry carry;
  Sum rest = sum;
  if (filled > 0) {
    carry.words[0] = word | (rest.low << filled);
    carry.words[1] = (rest.low >> (64 - filled)) | (rest.middle << filled);
    carry.words[2] = (rest.middle >> (64 - filled)) | (rest.high << filled);
  } else {
    carry = {{rest.low, rest.middle, rest.high}};
  }
  return carry;
}

}  // namespace

Carry add_coefficients(std::span<Word> out, const Word* const* rows, const arith::Modulus* primes,
                       std::size_t n, bool centered, std::size_t length, int b) {
  switch (n) {
    case 1:
      return centered ? add_coefficients<1, true>(out, rows, primes, length, b)
                      : add_coefficients<1, false>(out, rows, primes, length, b);
    case 2:
      return centered ? add_coefficients<2, true>(out, rows, primes, length, b)
                      : add_coefficients<2, false>(out, rows, primes, length, b);
    case 3:
      return centered ? add_coefficients<3, true>(out, rows, primes, length, b)
                      : add_coefficients<3, false>(out, rows, primes, length, b);
    default:
      return centered ? add_coefficients<4, true>(out, rows, primes, length, b)
                      : add_coefficients<4, false>(out, rows, primes, length, b);
  }
}

Carry add_carry(std::span<Word> out, const Carry& carry) {
  const Word sign = static_cast<std::int64_t>(carry.words[2]) < 0 ? ~Word{0} : 0;
  Word over = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i >= 3 && over == (sign & 1)) return {};  // adding the sign and a carry changes nothing
    const uint128 sum = static_cast<uint128>(out[i]) + (i < 3 ? carry.words[i] : sign) + over;
    out[i] = static_cast<Word>(sum);
    over = static_cast<Word>(sum >> 64);
  }
  return Carry::of(static_cast<std::int64_t>(over) - static_cast<std::int64_t>(sign & 1));
}

void subtract_wrapped(std::span<Word> out, const Carry& top) {
  const std::span<Word> low = out.first(out.size() - 1);
  Carry negative{{~top.words[0], ~top.words[1], ~top.words[2]}};
  add_carry(negative.words, Carry::of(1));
  // The carry from the top is at most 1 in absolute value now; wrapped, it leaves 2^M or -1, which is 2^M
  // too, or nothing.
  const Carry beyond = add_carry(low, negative);
  const Carry rest = add_carry(low, Carry::of(-static_cast<std::int64_t>(beyond.words[0])));
  const bool power = rest.words[0] != 0;
  if (power) std::fill(low.begin(), low.end(), 0);
  out.back() = power ? 1 : 0;
}

}  // namespace hemera::multiply
