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
/// x / (1 + exp(-x)) (S. Elfwing, E. Uchibe, K. Doya, "Sigmoid-weighted linear units", 2018).
Function silu(const Interval& interval, double tolerance);
/// log(1 + exp(x)).
Function softplus(const Interval& interval, double tolerance);
Function exponential(const Interval& interval, double tolerance);
/// Throws ParameterError unless the interval is above 0.
Function logarithm(const Interval& interval, double tolerance);

/// 1 / x: a polynomial y with the least |1 - x y|, and Goldschmidt's iterations y <- y + y a, a <- a^2 from a
/// = 1 - x y, each of depth 1 (R. Goldschmidt, 1964; J. Cheon, D. Kim, D. Kim, H. Lee, K. Lee, 2019/417,
/// algorithm 1). The number of iterations is that of the least depth. Throws ParameterError for an interval
/// with 0 in it.
Function inverse(const Interval& interval, double tolerance);
/// x / y of two inputs on their intervals, as x times the inverse of y, which is multiplied before it
/// iterates: at most one level more than the inverse. Throws ParameterError for an interval of y with 0 in
/// it.
Function divide(const Interval& x, const Interval& y, double tolerance);
/// The square root: a polynomial, or where that takes less depth Newton's iterations z <- 3/2 z - (x z) z^2
/// for the inverse square root from a polynomial, and x z; or, where that saves four levels and near 0, t
/// sign(t) with t^2 = x, whose stages are polynomials of x. Near 0 an error e of x is multiplied by about 1 /
/// tolerance, and values below -tolerance^2 grow without bounds. Throws ParameterError for an interval with
/// negative numbers, and if no circuit within the tolerance was found.
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

/// |x| on an interval, within `tolerance` everywhere: x times a sign of x, composed of odd minimax
/// polynomials (E. Lee, J. Lee, J. No, Y. Kim, 2020/834) of the degrees with the fewest levels, then the
/// fewest products. Its error is a bound: see docs/circuits-algorithms.md. Intervals other than [-1, 1] are
/// mapped by the first polynomial, without a level where at most 6 bits of precision are enough for that.
/// Where the interval is on one side of 0, x or -x. Throws ParameterError where no polynomials are near
/// enough.
Function absolute(const Interval& interval, double tolerance);
/// max(x, 0), as x (1 + sign(x)) / 2 (J. Lee et al., "Privacy-preserving machine learning with fully
/// homomorphic encryption for deep neural network", 2022); else as `absolute`.
Function relu(const Interval& interval, double tolerance);
/// x where x > 0, else slope x; else as `absolute`. Throws ParameterError for a slope that is not finite.
Function leaky_relu(const Interval& interval, double slope, double tolerance);

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
