#include "circuits/bootstrap/eval_mod_scales.hpp"

#include <cmath>

namespace hemera::circuits {
namespace {

// log2 of the root mean square of d(error of t) / d(error of v, y, T_2, ...), over t as ciphertexts under an
// ephemeral secret of weight 32 have it, for range 16, degree 15 in y and three doublings: measured by
// putting errors into the steps of the clear series. T_2 and T_8 count with the parts of the series at their
// level.
constexpr std::array<double, eval_mod_steps + 1> amplification = {4.0, 7.0, 5.1,  3.1, 2.3,
                                                                  1.9, 0.3, -1.2, -2.6};
// Sources of error that share the whole: those above, and the parts of the series beside T_2, T_4 and T_8.
constexpr double sources = 12;

}  // namespace

EvalModScales water_filled(double error_log2, double rounding_log2) {
  const double each = rounding_log2 - (error_log2 - 0.5 * std::log2(sources));
  EvalModScales scales{.v = amplification[0] + each, .after = {}};
  for (std::size_t i = 0; i < eval_mod_steps; ++i) scales.after[i] = amplification[i + 1] + each;
  return scales;
}

std::array<double, eval_mod_steps> dropped_bits(const EvalModScales& scales, double constant_bits,
                                                double result) {
  std::array<double, eval_mod_steps> bits{};
  double before = scales.v;
  for (std::size_t i = 0; i < eval_mod_steps; ++i) {
    const double after = i + 1 == eval_mod_steps ? result : scales.after[i];
    double product = 2 * before - 1;
    if (i == 3) product += constant_bits;
    if (i == 4) product += 2;  // H T_8, where H has twice T_8's scale, and no factor 2
    bits[i] = product - after;
    before = after;
  }
  return bits;
}

std::array<double, eval_mod_steps> scales_after(double v, std::span<const double> divisors, double constant) {
  std::array<double, eval_mod_steps> scales{};
  double before = v;
  for (std::size_t i = 0; i < eval_mod_steps; ++i) {
    double product = before * before / 2;
    if (i == 3) product *= constant;
    if (i == 4) product *= 4;
    before = scales[i] = product / divisors[i];
  }
  return scales;
}

}  // namespace hemera::circuits
