#include "circuits/functions/function_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <variant>

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

// Points for each degree at which a polynomial is taken.
constexpr std::size_t oversampling = 8;

double largest_of(std::span<const Complex> numbers) {
  double result = 0;
  for (const Complex& number : numbers) result = std::max(result, std::abs(number));
  return result;
}

// The sum of the coefficients' magnitudes, each times a power of the base.
double bound_of_coefficients(const Polynomial& polynomial, std::size_t which, double base) {
  double bound = 0, power = 1;
  for (std::size_t n = 0; n <= polynomial.degree(); ++n, power *= base) {
    const double own = largest_of(polynomial.coefficient(which, n));
    if (own != 0) bound += power * own;
  }
  return bound;
}

// Over the interval. A polynomial of degree n that is at most 1 at m > n Chebyshev nodes is at most
// 1 / cos(pi n / 2 m) between them (H. Ehlich, K. Zeller, "Schwankung von Polynomen zwischen Gitterpunkten",
// 1964).
double bound_over_interval(const Polynomial& polynomial, std::size_t which) {
  const double of_coefficients = bound_of_coefficients(polynomial, which, 1);
  if (polynomial.width() != 1) return of_coefficients;
  const auto& [low, high] = polynomial.interval();
  const auto degree = static_cast<double>(polynomial.degree());
  const std::size_t nodes = oversampling * (polynomial.degree() + 1);
  const auto count = static_cast<double>(nodes);
  double found = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const double t = std::cos(std::numbers::pi * (static_cast<double>(node) + 0.5) / count);
    const Complex value = polynomial.evaluate(which, (low + high) / 2 + t * (high - low) / 2);
    if (value.imag() != 0) return of_coefficients;  // the theorem is of real ones
    found = std::max(found, std::abs(value));
  }
  return std::min(of_coefficients, found / std::cos(std::numbers::pi * degree / (2 * count)));
}

}  // namespace

std::vector<double> bounds_of(const Function& function, std::span<const double> inputs) {
  std::vector<double> bounds(inputs.begin(), inputs.end());
  for (const auto& part : function.parts()) {
    if (const auto* sum = std::get_if<Function::Sum>(&part)) {
      double bound = 0;
      for (const auto& [a, b] : sum->products) bound += bounds[a] * bounds[b];
      bound = std::abs(sum->factor) * bound + largest_of(sum->constant);
      for (const auto& term : sum->terms) bound += largest_of(term.factor) * bounds[term.value];
      bounds.push_back(bound);
      continue;
    }
    const auto& [x, polynomial] = std::get<Function::OfPolynomial>(part);
    for (std::size_t which = 0; which < polynomial.count(); ++which) {
      const bool is_chebyshev = polynomial.basis() == Basis::chebyshev;
      bounds.push_back(is_chebyshev ? bound_over_interval(polynomial, which)
                                    : bound_of_coefficients(polynomial, which, bounds[x]));
    }
  }
  std::vector<double> results;
  for (const Function::Value output : function.outputs()) results.push_back(bounds[output]);
  return results;
}

std::vector<double> bounds_over_intervals(const Function& function) {
  if (!function.largest().empty()) return function.largest();
  std::vector<double> inputs;
  for (const auto& [low, high] : function.inputs()) inputs.push_back(std::max(std::abs(low), std::abs(high)));
  return bounds_of(function, inputs);
}

}  // namespace hemera::circuits
