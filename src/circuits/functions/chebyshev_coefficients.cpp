#include "circuits/functions/chebyshev_coefficients.hpp"

#include <cmath>
#include <numbers>

namespace hemera::circuits {

std::vector<std::complex<double>> chebyshev_coefficients(const RealFunction& f, std::size_t degree) {
  const auto count = static_cast<double>(degree + 1);
  std::vector<std::complex<double>> coefficients(degree + 1);
  for (std::size_t k = 0; k <= degree; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i <= degree; ++i) {
      const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / count;
      sum += f(std::cos(angle)) * std::cos(static_cast<double>(k) * angle);
    }
    coefficients[k] = sum * (k == 0 ? 1 : 2) / count;
  }
  return coefficients;
}

}  // namespace hemera::circuits
