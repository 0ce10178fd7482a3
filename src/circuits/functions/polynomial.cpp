#include "hemera/circuits/functions/polynomial.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

constexpr double most_map_bits = 60;

}  // namespace

AffineMap map_of(const Interval& interval) {
  const double width = interval.high - interval.low;
  return {.factor = 2 / width, .shift = -(interval.low + interval.high) / width};
}

Polynomial::Polynomial(std::vector<Complex> coefficients, Basis basis, Interval interval,
                       PolynomialShape shape)
    : coefficients_(std::move(coefficients)), basis_(basis), interval_(interval), shape_(shape) {
  if (shape.count == 0 || !std::has_single_bit(shape.width) || coefficients_.empty() ||
      coefficients_.size() % (shape.count * shape.width) != 0) {
    throw ParameterError(std::to_string(coefficients_.size()) + " coefficients do not make up " +
                         std::to_string(shape.count) + " polynomials with coefficients of " +
                         std::to_string(shape.width) +
                         " numbers each, which must be 1 or a power of two of slots");
  }
  const bool is_finite = std::all_of(coefficients_.begin(), coefficients_.end(), [](const Complex& c) {
    return std::isfinite(c.real()) && std::isfinite(c.imag());
  });
  if (!is_finite) throw ParameterError("a polynomial has a coefficient that is not finite");
  if (!(interval.low < interval.high) || !std::isfinite(interval.high - interval.low)) {
    throw ParameterError("a polynomial on the interval from " + std::to_string(interval.low) + " to " +
                         std::to_string(interval.high) +
                         ": both ends must be finite, and the first below the second");
  }
  powers_ = coefficients_.size() / (shape.count * shape.width);
  for (std::size_t power = powers_; power-- > 0 && degree_ == 0;) {
    for (std::size_t which = 0; which < shape.count; ++which) {
      const auto row = coefficient(which, power);
      const bool is_zero = std::all_of(row.begin(), row.end(), [](const Complex& c) { return c == 0.0; });
      if (!is_zero) degree_ = power;
    }
  }
}

std::span<const Complex> Polynomial::coefficient(std::size_t which, std::size_t power) const {
  return std::span(coefficients_).subspan((which * powers_ + power) * shape_.width, shape_.width);
}

bool Polynomial::maps_by_product() const {
  if (basis_ == Basis::power) return false;
  const auto largest_factor = static_cast<double>(std::bit_floor(std::max<std::size_t>(1, degree_)));
  return std::abs(std::log2(map_of(interval_).factor)) * largest_factor > map_bits_;
}

Polynomial Polynomial::with_map_bits(double bits) const {
  if (!(bits >= 0) || bits > most_map_bits) {
    throw ParameterError("a map that takes up to " + std::to_string(bits) + " bits; from 0 to " +
                         std::to_string(most_map_bits) + " are taken");
  }
  Polynomial copy = *this;
  copy.map_bits_ = bits;
  return copy;
}

std::size_t Polynomial::depth() const {
  const auto products = static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(1, degree_)));
  return products + (maps_by_product() ? 1 : 0);
}

Complex Polynomial::evaluate(std::size_t which, Complex x, std::size_t slot) const {
  const auto at = [&](std::size_t power) {
    return coefficient(which, power)[shape_.width == 1 ? 0 : slot % shape_.width];
  };
  if (basis_ == Basis::power) {
    Complex sum = 0;
    for (std::size_t power = degree_ + 1; power-- > 0;) sum = sum * x + at(power);
    return sum;
  }
  const AffineMap map = map_of(interval_);
  const Complex t = map.factor * x + map.shift;
  Complex one = 0, two = 0;
  for (std::size_t power = degree_; power > 0; --power) {
    two = std::exchange(one, at(power) + 2.0 * t * one - two);
  }
  return at(0) + t * one - two;
}

}  // namespace hemera::circuits
