#include "hemera/multiply/kronecker.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::multiply {
namespace {

using arith::uint128;
using Word = std::uint64_t;

constexpr std::size_t group = 64;  // coefficients that fill e whole words
constexpr std::size_t max_words = 3;

void check_exponent(int exponent) {
  if (exponent < 1 || exponent > max_kronecker_exponent) {
    throw ParameterError("the exponent " + std::to_string(exponent) +
                         " of an evaluation point 2^exponent is not in [1, " +
                         std::to_string(max_kronecker_exponent) + "]");
  }
}

void check_words(const char* what, std::size_t actual, std::size_t expected) {
  if (actual != expected) {
    throw MismatchError(std::string(what) + " has " + std::to_string(actual) + " words where " +
                        std::to_string(expected) + " are needed");
  }
}

// body(first, end) on whole groups of coefficients.
template <typename Body>
void for_groups(std::size_t count, runtime::ThreadPool& pool, const Body& body) {
  constexpr std::size_t chunk = 32 * group;
  pool.parallel_for((count + chunk - 1) / chunk,
                    [&](std::size_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); });
}

// Words of the groups from coefficient `first`, a multiple of 64, to `end`.
struct WordRange {
  std::size_t first;
  std::size_t end;
};
WordRange words_of(std::size_t first, std::size_t end, int e) {
  return {first / group * static_cast<std::size_t>(e), kronecker_words(end, e)};
}

// Bits [bit, bit + e) of an integer; zeros above its words.
struct Digit {
  Word words[max_words];

  [[nodiscard]] bool is_zero() const { return (words[0] | words[1] | words[2]) == 0; }
  void decrement() {
    for (std::size_t i = 0; i < max_words && words[i]-- == 0; ++i) {
    }
  }
};
Digit digit_at(std::span<const Word> integer, std::size_t bit, int e) {
  const std::size_t at = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  const auto word = [&](std::size_t i) { return at + i < integer.size() ? integer[at + i] : 0; };
  Digit digit{};
  int left = e;
  for (std::size_t i = 0; i < max_words && left > 0; ++i, left -= 64) {
    const Word low = word(i) >> shift;
    const Word high = shift == 0 ? 0 : word(i + 1) << (64 - shift);
    digit.words[i] = (low | high) & (left >= 64 ? ~Word{0} : (Word{1} << left) - 1);
  }
  return digit;
}

// The same for e < 128, where three words are there.
[[gnu::always_inline]] inline uint128 narrow_digit_at(const Word* integer, std::size_t bit, uint128 mask) {
  const Word* at = integer + bit / 64;
  const auto shift = bit % 64;
  const uint128 both = at[0] | (static_cast<uint128>(at[1]) << 64);
  const uint128 above = static_cast<uint128>(at[2]) << 64 << (63 - shift) << 1;  // shift may be 0
  return ((both >> shift) | above) & mask;
}

std::size_t words_each(int e) { return static_cast<std::size_t>(e + 63) / 64; }

void check_nothing_above(std::span<const Word> integer, std::size_t count, int e) {
  const std::size_t bits = count * static_cast<std::size_t>(e);
  const std::size_t used = bits / 64;
  bool clean = true;
  for (std::size_t i = used; i < integer.size() && clean; ++i) {
    clean = (i == used ? integer[i] >> (bits % 64) : integer[i]) == 0;
  }
  if (!clean) {
    throw ParameterError("the integer has bits above its " + std::to_string(count) + " coefficients of " +
                         std::to_string(e) + " bits; use a larger exponent or count");
  }
}

// A digit plus the carry into it, at most 2^e.
struct Sum {
  Word words[max_words + 1];

  Sum(const Digit& digit, bool carry) : words{digit.words[0], digit.words[1], digit.words[2], 0} {
    for (std::size_t i = 0; i <= max_words && carry; ++i) carry = ++words[i] == 0;
  }
  [[nodiscard]] bool bit(std::size_t i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  // Is itself less 2^e, as a signed coefficient: from 2^(e-1) on, or above it if the whole is negated.
  [[nodiscard]] bool is_upper_half(std::size_t e, bool negated) const {
    if (bit(e)) return true;
    if (!bit(e - 1) || !negated) return bit(e - 1);
    Word rest = 0;
    for (std::size_t i = 0; i <= (e - 1) / 64; ++i) {
      rest |= i < (e - 1) / 64 ? words[i] : words[i] & ((Word{1} << ((e - 1) % 64)) - 1);
    }
    return rest != 0;
  }
  // Less 2^e, in two's complement.
  void wrap(std::size_t e) {
    Word subtrahend = Word{1} << (e % 64);
    for (std::size_t i = e / 64; i <= max_words && subtrahend != 0; ++i) {
      const Word before = words[i];
      words[i] -= subtrahend;
      subtrahend = words[i] > before ? 1 : 0;
    }
  }
  void negate() {
    bool one = true;
    for (Word& word : words) {
      word = ~word + (one ? 1 : 0);
      one = one && word == 0;
    }
  }
};

}  // namespace

int kronecker_exponent(Word largest_a, Word largest_b, std::size_t terms, Signedness signedness) {
  // terms * a * b in three words.
  const uint128 product = static_cast<uint128>(largest_a) * largest_b;
  const uint128 low = static_cast<uint128>(static_cast<Word>(product)) * terms;
  const uint128 high =
      static_cast<uint128>(static_cast<Word>(product >> 64)) * terms + static_cast<Word>(low >> 64);
  const Word words[] = {static_cast<Word>(low), static_cast<Word>(high), static_cast<Word>(high >> 64)};
  int bits = 0;
  for (int i = 0; i < 3; ++i) {
    if (words[i] != 0) bits = 64 * i + static_cast<int>(std::bit_width(words[i]));
  }
  const int exponent = std::max(1, bits + (signedness == Signedness::signed_coefficients ? 1 : 0));
  check_exponent(exponent);
  return exponent;
}

std::size_t kronecker_words(std::size_t count, int exponent) {
  check_exponent(exponent);
  return (count * static_cast<std::size_t>(exponent) + 63) / 64;
}

void pack(std::span<Word> integer, std::span<const Word> coefficients, int exponent,
          runtime::ThreadPool& pool) {
  check_words("the integer", integer.size(), kronecker_words(coefficients.size(), exponent));
  const auto e = static_cast<std::size_t>(exponent);
  for_groups(coefficients.size(), pool, [&](std::size_t first, std::size_t end) {
    const WordRange range = words_of(first, end, exponent);
    std::fill(integer.data() + range.first, integer.data() + range.end, 0);
    Word all = 0;
    for (std::size_t j = first; j < end; ++j) {
      const Word c = coefficients[j];
      const std::size_t at = j * e / 64;
      const std::size_t shift = j * e % 64;
      all |= c;
      integer[at] |= c << shift;
      // The next word may be the next group's, but then this coefficient has no bits there.
      if (shift != 0 && at + 1 < range.end) integer[at + 1] |= c >> (64 - shift);
    }
    if (exponent < 64 && all >> exponent != 0) {
      throw ParameterError("a coefficient has more than the " + std::to_string(exponent) +
                           " bits of its place; use a larger exponent");
    }
  });
}

bool pack_signed(std::span<Word> magnitude, std::span<const std::int64_t> coefficients, int exponent,
                 runtime::ThreadPool& pool) {
  check_words("the integer", magnitude.size(), kronecker_words(coefficients.size(), exponent));
  const auto e = static_cast<std::size_t>(exponent);
  // The integer has the sign of its highest coefficient that is not 0; so have the lower parts of it, and a
  // lower part of the other sign borrows from what is above.
  const auto sign_below = [&](std::size_t count) {
    while (count > 0 && coefficients[count - 1] == 0) --count;
    return count == 0 ? 0 : (coefficients[count - 1] < 0 ? -1 : 1);
  };
  const bool negative = sign_below(coefficients.size()) < 0;
  for_groups(coefficients.size(), pool, [&](std::size_t first, std::size_t end) {
    const WordRange range = words_of(first, end, exponent);
    std::fill(magnitude.data() + range.first, magnitude.data() + range.end, 0);
    bool borrow = sign_below(first) == (negative ? 1 : -1);
    for (std::size_t j = first; j < end; ++j) {
      const std::int64_t c = coefficients[j];
      if (exponent < 64) {
        const std::int64_t half = std::int64_t{1} << (exponent - 1);
        if (c < -half || c >= half) {
          throw ParameterError("the coefficient " + std::to_string(c) + " does not fit " +
                               std::to_string(exponent) + " bits with its sign; use a larger exponent");
        }
      }
      // In the sign of the whole: c - borrow, modulo 2^e.
      arith::int128 value = negative ? -static_cast<arith::int128>(c) : static_cast<arith::int128>(c);
      value -= borrow ? 1 : 0;
      borrow = value < 0;
      Word words[4] = {static_cast<Word>(value), static_cast<Word>(value >> 64), borrow ? ~Word{0} : 0, 0};
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t below = 64 * i;
        if (e <= below) {
          words[i] = 0;
        } else if (e - below < 64) {
          words[i] &= (Word{1} << (e - below)) - 1;
        }
      }
      const std::size_t at = j * e / 64;
      const std::size_t shift = j * e % 64;
      for (std::size_t i = 0; i < 4; ++i) {
        const Word below = shift == 0 || i == 0 ? 0 : words[i - 1] >> (64 - shift);
        if (at + i < range.end) magnitude[at + i] |= (words[i] << shift) | below;
      }
    }
  });
  return negative;
}

void unpack(std::span<Word> coefficients, std::span<const Word> integer, std::size_t count, int exponent,
            runtime::ThreadPool& pool) {
  check_exponent(exponent);
  const std::size_t width = words_each(exponent);
  check_words("the coefficients' array", coefficients.size(), width * count);
  check_nothing_above(integer, count, exponent);
  for_groups(count, pool, [&](std::size_t first, std::size_t end) {
    for (std::size_t j = first; j < end; ++j) {
      const Digit digit = digit_at(integer, j * static_cast<std::size_t>(exponent), exponent);
      std::copy_n(digit.words, width, coefficients.data() + width * j);
    }
  });
}

void unpack_signed(std::span<Word> coefficients, std::span<const Word> magnitude, bool negative,
                   std::size_t count, int exponent, runtime::ThreadPool& pool) {
  check_exponent(exponent);
  const auto e = static_cast<std::size_t>(exponent);
  const std::size_t width = words_each(exponent);
  check_words("the coefficients' array", coefficients.size(), width * count);
  check_nothing_above(magnitude, count, exponent);
  // A digit of the upper half stands for itself less 2^e, and the next one is one more. Only a run of digits
  // 2^(e-1) - 1 (or 2^(e-1), if negated) passes a carry on, so that the search for the one into a range is
  // short.
  const auto carry_into = [&](std::size_t j) {
    for (; j > 0; --j) {
      const Digit digit = digit_at(magnitude, (j - 1) * e, exponent);
      const bool without = Sum(digit, false).is_upper_half(e, negative);
      if (without == Sum(digit, true).is_upper_half(e, negative)) return without;
    }
    return false;
  };
  for_groups(count, pool, [&](std::size_t first, std::size_t end) {
    bool carry = carry_into(first);
    for (std::size_t j = first; j < end; ++j) {
      Sum sum(digit_at(magnitude, j * e, exponent), carry);
      carry = sum.is_upper_half(e, negative);
      if (carry) sum.wrap(e);
      if (negative) sum.negate();
      std::copy_n(sum.words, width, coefficients.data() + width * j);
    }
  });
}

void unpack_negacyclic(std::span<Word> residues, std::span<const Word> integer, int exponent,
                       const arith::Modulus& q, runtime::ThreadPool& pool) {
  check_exponent(exponent);
  const auto e = static_cast<std::size_t>(exponent);
  const std::size_t count = residues.size();
  if (count == 0 || count % group != 0) {
    throw MismatchError("a negacyclic product of " + std::to_string(count) +
                        " coefficients; their number is a multiple of " + std::to_string(group));
  }
  check_words("the integer", integer.size(), kronecker_words(count, exponent) + 1);
  // Above 2^(count e - 1) the integer stands for itself less 2^(count e) + 1. Carries run as in
  // unpack_signed; the one out of the highest coefficient is the 2^(count e), and the lowest has the 1 less.
  const bool negative = integer.back() != 0 || integer[integer.size() - 2] >> 63 != 0;
  Digit lowest = digit_at(integer, 0, exponent);
  const bool is_minus_one = negative && lowest.is_zero();
  if (negative && !is_minus_one) lowest.decrement();
  const auto digit = [&](std::size_t j) { return j == 0 ? lowest : digit_at(integer, j * e, exponent); };
  const auto carry_into = [&](std::size_t j) {
    for (; j > 0; --j) {
      const bool without = Sum(digit(j - 1), false).is_upper_half(e, false);
      if (without == Sum(digit(j - 1), true).is_upper_half(e, false)) return without;
    }
    return false;
  };
  const Word radix = q.reduce(static_cast<uint128>(1) << 64);
  const Word place = q.power(2, e);
  const auto one = [&](std::size_t j, bool carry) {
    const Digit own = digit(j);
    const Word upper = q.reduce((static_cast<uint128>(own.words[2]) << 64) | own.words[1]);
    const Word value = q.add(q.reduce(static_cast<uint128>(upper) * radix + own.words[0]), carry ? 1 : 0);
    carry = Sum(own, carry).is_upper_half(e, false);
    residues[j] = carry ? q.subtract(value, place) : value;
    return carry;
  };
  const Word* const words = integer.data();
  const uint128 mask = (static_cast<uint128>(1) << (e % 128)) - 1;
  // The digits with e < 128 and three words at their first bit.
  const std::size_t narrow = e < 128 && integer.size() > 3 ? 64 * (integer.size() - 3) / e : 0;
  for_groups(count, pool, [&](std::size_t first, std::size_t end) {
    bool carry = carry_into(first);
    std::size_t j = first;
    if (j == 0) carry = one(j++, carry);
    for (; j < std::min(end, narrow); ++j) {
      const uint128 sum = narrow_digit_at(words, j * e, mask) + (carry ? 1 : 0);
      carry = sum >> (e - 1) != 0;
      const Word value = q.reduce(sum);
      residues[j] = carry ? q.subtract(value, place) : value;
    }
    for (; j < end; ++j) carry = one(j, carry);
  });
  if (is_minus_one) residues[0] = q.negate(1);
}

}  // namespace hemera::multiply
