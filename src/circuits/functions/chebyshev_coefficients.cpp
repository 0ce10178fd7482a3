#include "circuits/functions/chebyshev_coefficients.hpp"

#include <cmath>
#include <numbers>

namespace hemera::circuits {

std::vector<std::complex<double>> chebyshev_coefficients(const RealFunction& f, std::size_t degree) {
  const auto count = static_cast<double>(degree + 1);
  std::vector<double> angles, values;
  for (std::size_t i = 0; i <= degree; ++i) {
    angles.push_back(std::numbers::pi * (static_cast<double>(i) + 0.5) / count);
    values.push_back(f(std::cos(angles.back())));
  }
  std::vector<std::complex<double>> coefficients(degree + 1);
  for (std::size_t k = 0; k <= degree; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i <= degree; ++i) sum += values[i] * std::cos(static_cast<double>(k) * angles[i]);
    coefficients[k] = sum * (k == 0 ? 1 : 2) / count;
  }
  return coefficients;
}

}  // namespace hemera::circuits
