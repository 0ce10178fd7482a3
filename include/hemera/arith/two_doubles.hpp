// Real numbers of about 106 bits, each the sum of two doubles, for pre-computation.
#pragma once

#include <cmath>
#include <cstdint>

namespace hemera::arith {

/// value + rest: `rest` is what `value` leaves of a number, mostly half a unit of its last bit or less. (T.
/// J. Dekker, "A floating-point technique for extending the available precision", 1971.)
struct TwoDoubles {
  double value = 0;
  double rest = 0;
};

/// a + b, exactly.
inline TwoDoubles exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

inline TwoDoubles operator-(const TwoDoubles& a) { return {-a.value, -a.rest}; }

inline TwoDoubles operator+(const TwoDoubles& a, const TwoDoubles& b) {
  const TwoDoubles sum = exact_sum(a.value, b.value);
  return exact_sum(sum.value, sum.rest + (a.rest + b.rest));
}

inline TwoDoubles operator*(const TwoDoubles& a, const TwoDoubles& b) {
  const double product = a.value * b.value;
  const double error = std::fma(a.value, b.value, -product);
  return exact_sum(product, error + (a.value * b.rest + a.rest * b.value));
}

inline TwoDoubles operator/(const TwoDoubles& a, const TwoDoubles& b) {
  const double quotient = a.value / b.value;
  return exact_sum(quotient, (a + -(b * TwoDoubles{quotient})).value / b.value);
}

/// An integer, exactly.
inline TwoDoubles exactly(std::uint64_t integer) {
  const auto value = static_cast<double>(integer);
  return {value, static_cast<double>(static_cast<std::int64_t>(integer - static_cast<std::uint64_t>(value)))};
}

/// The nearest integer.
inline TwoDoubles nearest_integer(const TwoDoubles& a) {
  const double whole = std::nearbyint(a.value);
  return exact_sum(whole, std::nearbyint((a.value - whole) + a.rest));
}

}  // namespace hemera::arith
