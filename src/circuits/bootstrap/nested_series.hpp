// A cosine by one product a level: EvalMod's series without Paterson-Stockmeyer's parts.
#pragma once

#include <cstddef>

#include "circuits/bootstrap/eval_mod_series.hpp"
#include "circuits/bootstrap/sine_steps.hpp"
#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

/// cos(2 pi (t - 1/4) / 8) near the integers below 16, of v = (t - 1/4) / 16:
///
///   y = 2 v^2 + shift,  a = 2 y^2 - 1
///   b = inner (2 a^2 + b_a a + b_y y + b_1)
///   c = 2 (b^2 + a y) + c_a a + c_y y + c_1
///   p = outer (2 (c^2 + (u_b b + u_a a + u_y y + u_1) (w_a a + w_y y + w_1)) + p_1)
///
/// A polynomial of degree 16 in y has 17 coefficients, and these are 16 numbers (u_b only makes both factors
/// of a product as large). Polynomials that are near enough to the cosine are a family, as their highest
/// coefficients hardly matter; this is the one of it that amplifies errors least. (Fewer products by numbers
/// that are not those of a polynomial's basis: M. Paterson, L. Stockmeyer, 1973, section 2; J. Sastre,
/// "Efficient evaluation of matrix polynomials", 2018. The form and the numbers are ours;
/// docs/bootstrapping-algorithm.md says how they were found.)
struct NestedSeries {
  double shift, inner, outer;
  double b_a, b_y, b_1;
  double c_a, c_y, c_1;
  double u_b, u_a, u_y, u_1, w_a, w_y, w_1;
  double p_1;
};
extern const NestedSeries nested_series;

/// Steps of sine_step_gains whose values `inner` and `outer` take.
inline constexpr std::size_t nested_inner_step = 2, nested_outer_step = 4;

/// Whether the numbers are of this shape.
bool fits_nested(const SineShape& shape);
/// Without coefficients; its errors are those of the numbers in long doubles.
EvalModSeries checked_nested_series();
/// p of v: five levels. Numbers are multiplied in as values change their levels, where they take no modulus.
Function::Value add_nested_series(Function& function, Function::Value v);

}  // namespace hemera::circuits
