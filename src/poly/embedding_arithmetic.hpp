// The exact steps of the CKKS embedding that every backend shares: products of doubles to integers, integers
// to doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly {

/// A positive finite double as mantissa * 2^exponent, 2^52 <= mantissa < 2^53.
struct Scale {
  double value = 1.0;
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

/// scale / n as an exact mantissa and exponent; the double is exact too unless it is subnormal.
inline Scale divided_scale(double scale, std::size_t n) {
  Scale result;
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);
  result.mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  result.exponent = exponent - 53 - std::countr_zero(n);
  result.value = std::ldexp(fraction, exponent - std::countr_zero(n));
  return result;
}

/// |value * scale| rounded is at most 2^result for all values up to the one with these bits.
HEMERA_HOST_DEVICE inline int magnitude_bits(std::uint64_t largest, const Scale& scale) {
  const int exponent =
      static_cast<int>(largest >> 52) + static_cast<int>(largest >> 52 == 0) - 1022 + scale.exponent + 53;
  return exponent > 0 ? exponent : 0;
}

/// value * scale rounded to the nearest integer: (-1)^negative * (high 2^64 + low) * 2^shift.
struct ScaledInteger {
  std::uint64_t low;
  std::uint64_t high;
  int shift;               // >= 0
  std::uint64_t negative;  // all ones or zero
};

/// Exact for every finite value, ties to even, constant-time: the product of the mantissas has 106 bits.
HEMERA_HOST_DEVICE inline ScaledInteger scaled_integer(double value, const Scale& scale) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const auto normal = static_cast<std::uint64_t>(biased != 0);
  const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | (normal << 52);
  const int exponent = biased + static_cast<int>(1 - normal) - 1075 + scale.exponent;
  const arith::uint128 product = static_cast<arith::uint128>(mantissa) * scale.mantissa;
  // Right by s in [0, 127] where the exponent is negative; beyond 127 the result is 0 as for 127.
  const int sign = exponent >> 31;
  const int distance = -(exponent & sign);
  const int excess = distance - 127;
  const int s = distance - (excess & ~(excess >> 31));
  const arith::uint128 whole = product >> s;
  const arith::uint128 rest_mask = (static_cast<arith::uint128>(1) << s) - 1;
  // Half below the point, and up if the whole part is odd; for s = 0 the mask leaves nothing.
  const arith::uint128 half = rest_mask >> 1;
  const auto odd = static_cast<arith::uint128>(static_cast<std::uint64_t>(whole) & 1);
  const arith::uint128 up = ((product & rest_mask) + half + odd) >> s;
  const arith::uint128 rounded = whole + (up & static_cast<arith::uint128>(s != 0));
  return {static_cast<std::uint64_t>(rounded), static_cast<std::uint64_t>(rounded >> 64), exponent & ~sign,
          0 - (bits >> 63)};
}

/// Bits [first, first + 64) of the magnitude; constant-time in the value.
HEMERA_HOST_DEVICE inline std::uint64_t bits_from(const ScaledInteger& value, int first) {
  const int distance = first - value.shift;  // to the right
  const auto wide = (static_cast<arith::uint128>(value.high) << 64) | value.low;
  const auto right = static_cast<std::uint64_t>(wide >> (distance & 127));
  const std::uint64_t left = value.low << (-distance & 63);
  const std::uint64_t take_right = 0 - static_cast<std::uint64_t>((distance >= 0) & (distance < 128));
  const std::uint64_t take_left = 0 - static_cast<std::uint64_t>((distance < 0) & (distance > -64));
  return (right & take_right) | (left & take_left);
}

/// 2^exponent, -1022 <= exponent <= 1023.
HEMERA_HOST_DEVICE inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// (-1)^negative * magnitude * 2^exponent / divisor, 1 <= divisor < 2: the magnitude rounded to a double,
/// divided with one more rounding (results below 2^-1022: rounded once more). Constant-time. `magnitude` has
/// at most 63 significant bits; if it stands for a longer number its lowest bit is 1 where anything below was
/// cut off, so that it rounds correctly. `negative`: all ones or zero.
HEMERA_HOST_DEVICE inline double rounded_quotient(std::uint64_t magnitude, std::uint64_t negative,
                                                  int exponent, double divisor) {
  const double quotient = static_cast<double>(static_cast<std::int64_t>(magnitude)) / divisor;
  // In two steps, as 2^exponent may be out of range where the result is not.
  const int above = exponent - 2046;
  exponent -= above & ~(above >> 31);
  const int below = exponent + 2044;
  exponent -= below & (below >> 31);
  const int first = exponent >> 1;
  const double scaled = quotient * power_of_two(first) * power_of_two(exponent - first);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(scaled) ^ (negative & (std::uint64_t{1} << 63)));
}

/// The number of zeros above the highest bit of a word that is not zero.
HEMERA_HOST_DEVICE inline int leading_zeros(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(word));
#else
  return std::countl_zero(word);
#endif
}

/// What rounding needs of a long number that comes word by word, lowest first: the highest word that is not
/// zero, the one below, and whether anything is below that. Constant-time.
class LeadingWords {
 public:
  HEMERA_HOST_DEVICE void push(std::uint64_t word, int index) {
#if defined(__CUDA_ARCH__)
    // Selects, fewer instructions than masks.
    const bool found = word != 0;
    first_ = found ? word : first_;
    second_ = found ? before_ : second_;
    rest_ = found ? lower_ : rest_;
    position_ = found ? index : position_;
    lower_ |= static_cast<std::uint32_t>(before_) | static_cast<std::uint32_t>(before_ >> 32);
    before_ = word;
#else
    const std::uint64_t found = 0 - ((word | (0 - word)) >> 63);
    first_ = select(found, word, first_);
    second_ = select(found, before_, second_);
    rest_ = select(found, lower_, rest_);
    position_ = static_cast<int>(
        select(found, static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(position_)));
    lower_ |= before_;
    before_ = word;
#endif
  }
  /// this = mask set ? other : this.
  HEMERA_HOST_DEVICE void replace(std::uint64_t mask, const LeadingWords& other) {
    first_ = select(mask, other.first_, first_);
    second_ = select(mask, other.second_, second_);
    rest_ = select(mask, other.rest_, rest_);
    position_ = static_cast<int>(
        select(mask, static_cast<std::uint64_t>(other.position_), static_cast<std::uint64_t>(position_)));
  }
  /// The number times 2^exponent, rounded, divided: see rounded_quotient.
  HEMERA_HOST_DEVICE double divided(std::uint64_t negative, int exponent, double divisor) const {
    const int leading = leading_zeros(first_ | 1);
    const arith::uint128 joined = ((static_cast<arith::uint128>(first_) << 64) | second_) << leading;
    const auto high = static_cast<std::uint64_t>(joined >> 64);
    const std::uint64_t cut = static_cast<std::uint64_t>(joined) | (high & 1) | rest_;
    const std::uint64_t magnitude = (high >> 1) | ((cut | (0 - cut)) >> 63);
    return rounded_quotient(magnitude, negative, exponent + 64 * position_ + 1 - leading, divisor);
  }

 private:
  static HEMERA_HOST_DEVICE std::uint64_t select(std::uint64_t mask, std::uint64_t if_set,
                                                 std::uint64_t if_clear) {
    return (if_set & mask) | (if_clear & ~mask);
  }

  std::uint64_t first_ = 0, second_ = 0, rest_ = 0, before_ = 0, lower_ = 0;
  int position_ = 0;
};

}  // namespace hemera::poly
