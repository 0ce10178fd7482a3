// Polynomials in place of other real functions, with their error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "hemera/circuits/functions/polynomial.hpp"

namespace hemera::circuits {

using RealFunction = std::function<double(double)>;

enum class Fit : std::uint8_t {
  minimax,        ///< the least largest error, by Remez' exchange
  interpolation,  ///< the values at the Chebyshev nodes: at most 2 + (2/pi) log(degree + 1) times that error
};

struct ApproximationOptions {
  Fit fit = Fit::minimax;
  /// Positive factor of the error: 1 / |f| asks for relative errors. Empty: 1.
  RealFunction weight = {};
};

struct Approximation {
  Polynomial polynomial;  // in the Chebyshev basis of the interval
  /// The largest error, times the weight, at the points cos(pi j / m) of the interval for an m of at least 32
  /// (degree + 1), over cos(pi / 64): a bound where the error is a polynomial of degree m / 32 (H. Ehlich, K.
  /// Zeller, 1964). If the error between these points is larger, the largest found, with the rounding of an
  /// evaluation. A bound for functions that are smooth on this scale.
  double error;
};

/// The polynomial of this degree nearest to f on the interval (E. Remez, 1934, with the barycentric formula
/// of R. Pachon, L. Trefethen, "Barycentric-Remez algorithms for best polynomial approximation in the chebfun
/// system", 2009). Odd and even functions of an interval around 0 get odd and even polynomials. If errors are
/// about 2^-50 of the values, interpolation may have the smaller one, and is then used. Throws ParameterError
/// for a degree above most_approximation_degree, and where f or the weight is not finite.
Approximation approximate(const RealFunction& f, const Interval& interval, std::size_t degree,
                          const ApproximationOptions& options = {});
/// The same with the smallest degree whose error is at most `tolerance`. Throws ParameterError when none up
/// to most_approximation_degree is.
Approximation approximate_within(const RealFunction& f, const Interval& interval, double tolerance,
                                 const ApproximationOptions& options = {});

inline constexpr std::size_t most_approximation_degree = 1023;

}  // namespace hemera::circuits
