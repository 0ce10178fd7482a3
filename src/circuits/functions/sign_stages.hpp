// The sign as a composition of odd polynomials (elementary.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

/// An odd polynomial for the sign on [from, 1] and its mirror: Chebyshev coefficients on [-1, 1].
struct SignStage {
  std::vector<double> coefficients;
  double error = 0;

  [[nodiscard]] std::size_t degree() const { return coefficients.size() - 1; }
  /// Where it leaves values, the largest one as 1.
  [[nodiscard]] double next() const { return (1 - error) / (1 + error); }
};

/// The nearest odd polynomial to 1 on [from, 1]: x r(x^2) with r(y) near 1 / sqrt(y), weighted by sqrt(y).
SignStage nearest_to_sign(double from, std::size_t degree);
/// The same with the exact error of its polynomial, up to rounding: from the values at all its extrema.
SignStage measured_stage(double from, std::size_t degree);
/// A stage's results for values in [-1, 1].
std::vector<double> values_at(const SignStage& stage, std::vector<double> values);

/// The stages of the least depth that bring [from, 1] within the tolerance of 1. ParameterError where no
/// depth that is tried does.
std::vector<SignStage> stages_for(double from, double tolerance);

/// factor sign(x) + shift; x is in `interval`, which the first stage maps to [-1, 1]: without a level of its
/// own where this many bits of its scale are enough (Polynomial::with_map_bits).
Function::Value add_sign(Function& function, Function::Value x, const std::vector<SignStage>& stages,
                         const Interval& interval, double factor, double shift, double map_bits = 2);

/// The stages' value at t in [-1, 1].
double sign_at(const std::vector<SignStage>& stages, double t);

}  // namespace hemera::circuits
