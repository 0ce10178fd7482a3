// Functions that circuits use often, with their errors: each knows its depth before there are parameters.
#pragma once

#include <functional>

#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

/// The nearest polynomial of the smallest degree that is within `tolerance`; Function::error is its error.
/// Throws the errors of approximate_within.
Function approximating(const RealFunction& f, const Interval& interval, double tolerance);

/// 1 / (1 + exp(-x)).
Function sigmoid(const Interval& interval, double tolerance);
Function hyperbolic_tangent(const Interval& interval, double tolerance);
/// x P(X <= x) for a normal X (D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016).
Function gelu(const Interval& interval, double tolerance);
Function exponential(const Interval& interval, double tolerance);
/// Throws ParameterError unless the interval is above 0.
Function logarithm(const Interval& interval, double tolerance);

/// 1 / x: a polynomial y with the least |1 - x y|, and Goldschmidt's iterations y <- y + y a, a <- a^2 from a
/// = 1 - x y, each of depth 1 (R. Goldschmidt, 1964; J. Cheon, D. Kim, D. Kim, H. Lee, K. Lee, 2019/417,
/// algorithm 1). The number of iterations is that of the least depth. Throws ParameterError for an interval
/// with 0 in it.
Function inverse(const Interval& interval, double tolerance);
/// The square root: a polynomial, or where that takes less depth Newton's iterations z <- 3/2 z - (x z) z^2
/// for the inverse square root from a polynomial, and x z. Throws ParameterError for an interval with
/// negative numbers, and if no circuit within the tolerance was found, as near 0.
Function square_root(const Interval& interval, double tolerance);

/// -1 or 1 for gap <= |x| <= largest, within `tolerance`; in between anything from -1 to 1. A composition of
/// odd polynomials (J. Cheon, D. Kim, D. Kim, 2019/1234), each the nearest one to the sign where the one
/// before leaves values (E. Lee, J. Lee, J. No, Y. Kim, 2020/834), with the degrees of the least depth.
/// Throws ParameterError unless 0 < gap < largest.
Function sign(double gap, double tolerance, double largest = 1);
/// 1 where a > b, 0 where a < b and 1/2 where they are equal, for |a|, |b| <= largest; within `tolerance`
/// where |a - b| >= gap.
Function compare(double gap, double tolerance, double largest = 1);
/// The larger of a and b, for |a|, |b| <= largest; within `tolerance` everywhere.
Function maximum(double tolerance, double largest = 1);

/// x between the ends of an interval, the nearer end outside, for |x| <= largest: (|x - low| - |x - high| +
/// low + high) / 2 by two signs. Within `tolerance` everywhere. Throws ParameterError unless largest is above
/// the magnitudes of both ends, and where no sign is near enough.
Function clip(const Interval& interval, double tolerance, double largest);
/// Makes a function on an interval within a tolerance.
using FunctionMaker = std::function<Function(const Interval&, double)>;
/// A function of one value after a clip to the interval, within `tolerance` of the function of the clipped
/// value. The clip is only as precise as that needs: less where the function is flat at the ends. It is made
/// for an interval that is wider by a sixteenth at each end, as far as that keeps 0 out.
Function clipped(const FunctionMaker& make, const Interval& interval, double tolerance, double largest);

}  // namespace hemera::circuits
