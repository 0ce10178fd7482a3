// Chebyshev series on [-1, 1]: coefficients from values, and values from coefficients.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace hemera::circuits {

/// The points cos(pi (i + 1/2) / count).
std::vector<double> chebyshev_nodes(std::size_t count);
/// Coefficients of the polynomial that has these values at as many nodes.
std::vector<double> chebyshev_coefficients(const std::vector<double>& values);
/// Coefficients of the polynomial of this degree that has the function's values at the nodes.
std::vector<double> chebyshev_coefficients(const std::function<double(double)>& f, std::size_t degree);
/// The value at t, by C. Clenshaw's recurrence.
double chebyshev_value(const std::vector<double>& coefficients, double t);
/// The values at many points, with the same bits.
std::vector<double> chebyshev_values(const std::vector<double>& coefficients, std::vector<double> t);

}  // namespace hemera::circuits
