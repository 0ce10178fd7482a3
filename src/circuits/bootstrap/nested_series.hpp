// A cosine, and an exponential, by one or two relinearizations a level: EvalMod's series without
// Paterson-Stockmeyer's parts.
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

/// exp(2 pi i t / 8) between -16 and 16, of x = i t / 16:
///
///   a = x^2 + a_x x,  b = a^2 + b_a a + b_x x,  c = b^2 + c_b b + c_a a + c_x x
///   u = u_b b + u_a a + u_x x + u_1,  v = v_b b + v_a a + v_x x,  d = c^2 + c u,  e = c v
///   p = outer (d^2 + d (s_c c + s_u u + s_x x + s_1) + e (w_c c + w_u u + w_v v + w_x x + w_1)
///              + r_c c + r_u u + r_v v + r_x x + p_1)
///
/// The numbers are real. An error below 2^-32 of t, with one that is larger where integers are rarer, takes a
/// polynomial of degree 27 or 28, and these are 28 numbers and two that only make the factors of products as
/// large.
struct NestedExponential {
  double a_x, b_a, b_x, c_b, c_a, c_x;
  double u_b, u_a, u_x, u_1, v_b, v_a, v_x;
  double outer;
  double s_c, s_u, s_x, s_1, w_c, w_u, w_v, w_x, w_1;
  double r_c, r_u, r_v, r_x, p_1;
};
extern const NestedExponential nested_exponential;

/// Steps of sine_step_gains whose values `inner` and `outer` take.
inline constexpr std::size_t nested_inner_step = 2, nested_outer_step = 4;

/// Whether the numbers are of this shape.
bool fits_nested(const SineShape& shape);
/// Without coefficients; its errors are those of the numbers in long doubles: of the sine near the integers,
/// of the exponential between them too.
EvalModSeries checked_nested_series(bool exponential);
/// p of v: five levels. Numbers are multiplied in as values change their levels, where they take no modulus.
Function::Value add_nested_series(Function& function, Function::Value v);
/// p of x = i v: five levels, of which the fourth has two relinearizations.
Function::Value add_nested_exponential(Function& function, Function::Value x);

}  // namespace hemera::circuits
