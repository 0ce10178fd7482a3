// The scales of EvalMod's steps.
#pragma once

#include <span>
#include <vector>

#include "circuits/bootstrap/eval_mod_series.hpp"
#include "circuits/bootstrap/sine_steps.hpp"

namespace hemera::circuits {

/// log2 scales of v = (t - 1/4) / range and of each step's result.
struct EvalModScales {
  double v;
  std::vector<double> after;
};

/// For each step, from v on, log2 of the root mean square of d(error of t) / d(error of its values, at the
/// level's scale), over the integers that ciphertexts have under the ephemeral secret.
std::vector<double> sine_amplification(const SineShape& shape, const EvalModSeries& series);

/// Scales by which every step's rounding adds as much to t as any other's, and all together `error_log2`:
/// errors of early steps are amplified more, so their scales are larger. `rounding_log2`: of a division's
/// error in a slot, times the scale (rounding_model.hpp).
EvalModScales water_filled(const SineShape& shape, const EvalModSeries& series, double error_log2,
                           double rounding_log2);

/// The bits of modulus that each step drops when the last one ends at `result` (log2 scale).
std::vector<double> dropped_bits(const SineShape& shape, const EvalModScales& scales, int constant_bits,
                                 double result);

/// The exact scales after each step, when v has the scale `v` and the steps divide by `divisors`.
std::vector<double> scales_after(const SineShape& shape, double v, std::span<const double> divisors,
                                 int constant_bits);

}  // namespace hemera::circuits
