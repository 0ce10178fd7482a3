// The factor between CKKS values and polynomials, beyond what a double holds of it.
#pragma once

#include "hemera/arith/two_doubles.hpp"

namespace hemera::rlwe {

/// A double wherever that is enough. What it leaves of the exact scale, which is a product of quotients of
/// primes, is kept beside it: values are known to more bits than a double has where the scale is.
class Scale {
 public:
  constexpr Scale(double scale = 1) : value_(scale) {}  // NOLINT(google-explicit-constructor)
  explicit constexpr Scale(const arith::TwoDoubles& exact) : value_(exact.value), rest_(exact.rest) {}
  /// The exact scale under a double that differs from it by rounding.
  static Scale named(double scale, const arith::TwoDoubles& exact) {
    return Scale(arith::TwoDoubles{scale, (exact.value - scale) + exact.rest});
  }

  constexpr operator double() const { return value_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] arith::TwoDoubles exact() const { return arith::exact_sum(value_, rest_); }
  /// The rest beside the double.
  [[nodiscard]] constexpr double rest() const { return rest_; }

  Scale& operator*=(const Scale& factor) {
    return *this = named(value_ * factor.value_, exact() * factor.exact());
  }
  Scale& operator/=(const Scale& divisor) {
    return *this = named(value_ / divisor.value_, exact() / divisor.exact());
  }

 private:
  double value_;
  double rest_ = 0;
};

}  // namespace hemera::rlwe
