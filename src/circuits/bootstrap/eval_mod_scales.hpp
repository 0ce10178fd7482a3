// The scales of EvalMod's steps.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace hemera::circuits {

/// The steps that use up modulus, in their order: y = T_1 and T_2, T_4, T_8 of it, the series, three
/// doublings.
inline constexpr std::size_t eval_mod_steps = 8;
/// With the arcsine of degree 3: its square and its product.
inline constexpr std::size_t arcsine_steps = 2;

/// log2 scales of v = (t - 1/4) / range and of what each step leaves.
struct EvalModScales {
  double v;
  std::array<double, eval_mod_steps> after;
};

/// Scales by which every step's rounding adds as much to t as any other's, and all together `error_log2`:
/// errors of early steps are amplified more, so their scales are larger. `rounding_log2`: of what a division
/// leaves in a slot, times the scale (rounding_model.hpp).
EvalModScales water_filled(double error_log2, double rounding_log2);

/// The bits of modulus that each step drops when the last one ends at `result` (log2 scale). A product 2 a b
/// has half the product of the scales; the series' coefficients have `constant_bits` bits, which T_8's step
/// drops.
std::array<double, eval_mod_steps> dropped_bits(const EvalModScales& scales, double constant_bits,
                                                double result);

/// The exact scales after each step, when v has the scale `v` and the steps divide by `divisors`.
std::array<double, eval_mod_steps> scales_after(double v, std::span<const double> divisors, double constant);

}  // namespace hemera::circuits
