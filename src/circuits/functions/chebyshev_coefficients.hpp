// A polynomial from its values.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "hemera/circuits/functions/approximation.hpp"

namespace hemera::circuits {

/// Chebyshev coefficients on [-1, 1] of a polynomial of this degree.
std::vector<std::complex<double>> chebyshev_coefficients(const RealFunction& f, std::size_t degree);

}  // namespace hemera::circuits
