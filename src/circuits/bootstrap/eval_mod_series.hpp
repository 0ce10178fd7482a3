// The series that EvalMod evaluates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemera/arith/two_doubles.hpp"

namespace hemera::circuits {

struct EvalModSeries {
  /// Coefficients of T_0, T_1, ... in y = 2 v^2 - 1, v = (t - 1/4) / range: an even series in v of twice this
  /// degree. An exponential's are of i^k T_k(v), v = t / range: polynomials in i v with real coefficients.
  std::vector<arith::TwoDoubles> coefficients;
  /// log2 of the error of t after the doublings, by |I| from 0 to range - 1.
  std::vector<double> error_log2;
};

struct EvalModRequest {
  std::size_t range = 16;     ///< integers are below it
  std::size_t degree = 15;    ///< in y
  std::size_t doublings = 3;  ///< of the angle
  double radius_log2 = -13;   ///< of the distance to the integers, -1 at most: then it is all of the range
  double trust = 0.25;        ///< the error may be P(a bootstrap meets |I|)^-trust times larger
  std::size_t weight = 32;
  std::size_t coefficients = std::size_t{1} << 16;
};

/// cos(2 pi (t - 1/4) / 2^doublings) near the integers below `range`, so that `doublings` times x -> 2 x^2 -
/// 1 gives sin(2 pi t): least squares, weighted by what the doublings make of an error, and by how rare an
/// integer is. (Cosine and double angle: K. Han, D. Ki, 2019/688, section 3; the weights are ours.) Throws
/// nothing; takes some milliseconds.
EvalModSeries fit_eval_mod(const EvalModRequest& request);

/// exp(2 pi i t / 2^doublings) on the whole range, whose squares, `doublings` times, give exp(2 pi i t): the
/// Jacobi-Anger expansion up to T_(2 degree + 1), nearly the best one. Its error is one bound for all
/// integers.
EvalModSeries exponential_series(std::size_t range, std::size_t degree, std::size_t doublings);

/// The most coefficients that the integers which occur determine.
std::size_t most_coefficients(const EvalModRequest& request);
/// log2 of the root mean square of the error of t, over the integers that a secret of this weight leaves.
double mean_error_log2(const EvalModSeries& series, std::size_t weight);

/// p = q T_k + r: coefficients of q and r in the Chebyshev basis, for a series of 2 k coefficients.
struct ChebyshevQuotient {
  std::vector<arith::TwoDoubles> quotient, remainder;
};
/// `turned`: the basis is i^k T_k, and k is even.
ChebyshevQuotient divide_chebyshev(std::span<const arith::TwoDoubles> series, std::size_t k,
                                   bool turned = false);
/// The factor of the term of n - j: T_(n + j) = 2 T_n T_j - T_(n - j), and where T_k stands for i^k T_k the
/// sign changes with j.
inline double chebyshev_sign(std::size_t j, bool turned) { return turned && j % 2 != 0 ? 1 : -1; }

}  // namespace hemera::circuits
