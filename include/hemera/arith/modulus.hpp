// Word-sized modular arithmetic: a modulus with its Barrett constants, and Shoup factors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define HEMERA_HOST_DEVICE __host__ __device__
#else
#define HEMERA_HOST_DEVICE
#endif

namespace hemera::arith {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

/// Largest number of bits a modulus may have: lazy sums of a few residues then fit a word.
inline constexpr int max_modulus_bits = 61;

/// The 128-bit product a * b.
HEMERA_HOST_DEVICE constexpr uint128 multiply_wide(std::uint64_t a, std::uint64_t b) {
#if defined(__wasm32__)
  // The compiler would call a function for factors of 128 bits, which takes two to three times as long.
  const std::uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const std::uint64_t low = a0 * b0, first = a1 * b0 + (low >> 32), second = a0 * b1 + (first & 0xffffffff);
  const std::uint64_t high = a1 * b1 + (first >> 32) + (second >> 32);
  return static_cast<uint128>(high) << 64 | (second << 32 | (low & 0xffffffff));
#else
  return static_cast<uint128>(a) * b;
#endif
}

/// High word of the 128-bit product a * b.
HEMERA_HOST_DEVICE constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(multiply_wide(a, b) >> 64);
}

/// A modulus 2 <= q < 2^61 with the constant of Barrett reduction, floor(2^128 / q).
///
/// Need not be prime (a plaintext modulus may be a power of two). Every function returns canonical
/// residues in [0, q) and expects them, unless it says otherwise. Moduli are public: the functions
/// take the same time for all residues.
class Modulus {
 public:
  constexpr Modulus() = default;

  /// Precondition: 2 <= value < 2^61 (checked where parameters are made, see rlwe::Parameters).
  HEMERA_HOST_DEVICE constexpr explicit Modulus(std::uint64_t value) : value_(value) {
    // floor(2^128 / q) = floor((2^128 - 1) / q) unless q divides 2^128 (q a power of two).
    const uint128 all_ones = ~static_cast<uint128>(0);
    uint128 ratio = all_ones / value;
    if (all_ones % value == value - 1) ++ratio;
    ratio_high_ = static_cast<std::uint64_t>(ratio >> 64);
    ratio_low_ = static_cast<std::uint64_t>(ratio);
  }

  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t value() const { return value_; }
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t ratio_high() const { return ratio_high_; }
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t ratio_low() const { return ratio_low_; }

  /// Number of bits of the modulus: 2^(bits-1) <= q < 2^bits.
  [[nodiscard]] constexpr int bits() const { return static_cast<int>(std::bit_width(value_)); }

  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    return correct(a + b - value_);
  }

  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const {
    return correct(a - b);
  }

  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t negate(std::uint64_t a) const {
    return correct(0 - a);
  }

  /// Any 64-bit a to [0, q).
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t reduce(std::uint64_t a) const {
    const std::uint64_t quotient = multiply_high(a, ratio_high_);
    return correct(a - quotient * value_ - value_);  // the remainder is in [0, 2q)
  }

  /// Any 128-bit a to [0, q) (Barrett with a 128-bit ratio; the quotient is at most one too small).
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t reduce(uint128 a) const {
    const auto low = static_cast<std::uint64_t>(a);
    const auto high = static_cast<std::uint64_t>(a >> 64);
    const uint128 middle = multiply_wide(low, ratio_high_) + multiply_high(low, ratio_low_);
    const uint128 cross = multiply_wide(high, ratio_low_) + static_cast<std::uint64_t>(middle);
    const std::uint64_t quotient = high * ratio_high_ + static_cast<std::uint64_t>(middle >> 64) +
                                   static_cast<std::uint64_t>(cross >> 64);
    return correct(low - quotient * value_ - value_);  // the remainder is in [0, 2q)
  }

  /// A sum of fewer than 64 products of residues, or anything below 64 times the square of 2^bits, to [0,
  /// 3q): by one quotient of words, less than 3 too small, of the upper bits and 2^(63 + bits) / q. In powers
  /// of two and moduli that do not have 33 to 57 bits as `reduce`, which takes three times as many products.
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t reduce_sum_lazily(uint128 a) const {
#if defined(__CUDA_ARCH__)
    const int size = 64 - __clzll(static_cast<long long>(value_));
#else
    const int size = bits();
#endif
    const std::uint64_t ratio = (ratio_high_ << (size - 1)) | (ratio_low_ >> (65 - size));
    if (size < 33 || size > 57 || ratio == 0) return reduce(a);
    // Two words of 32 bits from three: the shift is at least 32.
    const std::uint64_t lower = (static_cast<std::uint64_t>(a >> 32) >> (size - 33)) & 0xffffffffU;
    const std::uint64_t upper = (static_cast<std::uint64_t>(a >> 64) >> (size - 33)) << 32 | lower;
    return static_cast<std::uint64_t>(a) - multiply_high(upper, ratio) * value_;
  }
  /// The same to [0, q).
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t reduce_sum(uint128 a) const {
    return correct(correct(reduce_sum_lazily(a) - value_) - value_);
  }

  /// A signed word to [0, q).
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t reduce_signed(std::int64_t a) const {
    const std::uint64_t mask = static_cast<std::uint64_t>(a >> 63);  // all ones if negative
    const std::uint64_t magnitude = (static_cast<std::uint64_t>(a) ^ mask) - mask;
    const std::uint64_t residue = reduce(magnitude);
    return (negate(residue) & mask) | (residue & ~mask);
  }

  /// Product of any two words, reduced.
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    return reduce(multiply_wide(a, b));
  }

  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t power(std::uint64_t base,
                                                                 std::uint64_t exponent) const {
    std::uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }

  /// The integer of [-(q-1)/2, q/2] that a residue stands for.
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::int64_t centered(std::uint64_t a) const {
    const std::uint64_t above_half = 0 - ((value_ / 2 - a) >> 63);
    return static_cast<std::int64_t>(a - (value_ & above_half));
  }

  friend constexpr bool operator==(const Modulus& a, const Modulus& b) { return a.value_ == b.value_; }

 private:
  /// a in [-q, q), modulo 2^64, to [0, q). From the sign bit: compilers may turn a comparison into a branch.
  [[nodiscard]] HEMERA_HOST_DEVICE constexpr std::uint64_t correct(std::uint64_t a) const {
    return a + (value_ & (0 - (a >> 63)));
  }

  std::uint64_t value_ = 0;
  std::uint64_t ratio_high_ = 0;
  std::uint64_t ratio_low_ = 0;
};

/// A constant factor w in [0, q) with floor(w * 2^64 / q): Shoup's product needs no division.
/// V. Shoup's NTL; D. Harvey, "Faster arithmetic for number-theoretic transforms" (2014), section 3.
struct ShoupFactor {
  std::uint64_t operand = 0;
  std::uint64_t quotient = 0;

  constexpr ShoupFactor() = default;
  HEMERA_HOST_DEVICE constexpr ShoupFactor(std::uint64_t factor, const Modulus& q)
      : operand(factor),
        quotient(static_cast<std::uint64_t>((static_cast<uint128>(factor) << 64) / q.value())) {}
};

/// a * w mod q for any word a; result in [0, 2q).
HEMERA_HOST_DEVICE constexpr std::uint64_t multiply_lazy(std::uint64_t a, const ShoupFactor& w,
                                                         std::uint64_t q) {
  return a * w.operand - multiply_high(a, w.quotient) * q;
}

/// a * w mod q for any word a; result in [0, q).
HEMERA_HOST_DEVICE constexpr std::uint64_t multiply(std::uint64_t a, const ShoupFactor& w, std::uint64_t q) {
  const std::uint64_t product = multiply_lazy(a, w, q) - q;  // in [-q, q), modulo 2^64
  return product + (q & (0 - (product >> 63)));
}

/// The lowest `bits` bits of index in reverse order.
HEMERA_HOST_DEVICE constexpr std::size_t reverse_bits(std::size_t index, int bits) {
  std::size_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= ((index >> i) & 1) << (bits - 1 - i);
  return reversed;
}

/// Multiplicative inverse of a modulo m by the extended Euclidean algorithm, or 0 if gcd(a, m) != 1.
/// Not constant-time: for public values. m < 2^63.
constexpr std::uint64_t inverse(std::uint64_t a, std::uint64_t m) {
  std::int64_t old_coefficient = 1, coefficient = 0;
  std::uint64_t old_remainder = a, remainder = m;
  while (remainder != 0) {
    const std::uint64_t quotient = old_remainder / remainder;
    const std::uint64_t next_remainder = old_remainder - quotient * remainder;
    old_remainder = remainder;
    remainder = next_remainder;
    const std::int64_t next = old_coefficient - static_cast<std::int64_t>(quotient) * coefficient;
    old_coefficient = coefficient;
    coefficient = next;
  }
  if (old_remainder != 1) return 0;
  // Its magnitude is at most m / 2.
  return static_cast<std::uint64_t>(old_coefficient) + (old_coefficient < 0 ? m : 0);
}

}  // namespace hemera::arith
