#include "circuits/bootstrap/bootstrap_layout.hpp"

#include <cmath>
#include <numbers>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using rlwe::LevelPurpose;

// Levels of this purpose that follow each other upwards from `first`.
std::size_t run_length(const rlwe::Parameters& parameters, std::size_t first, LevelPurpose purpose) {
  std::size_t level = first;
  while (level < parameters.levels() && parameters.purpose(level) == purpose) ++level;
  return level - first;
}

}  // namespace

double last_modulus(const rlwe::Parameters& parameters) {
  double product = 1;
  for (const std::uint64_t prime : parameters.literal().levels.front()) product *= static_cast<double>(prime);
  return product;
}

Arcsine fit_arcsine(double ratio) {
  // Least squares at Chebyshev points, which is nearly minimax.
  constexpr int points = 64;
  const double top = std::sin(2 * std::numbers::pi / ratio);
  double xx = 0, xy = 0, yy = 0, x_value = 0, y_value = 0;
  for (int i = 0; i < points; ++i) {
    const double u = std::cos(std::numbers::pi * (2 * i + 1) / (2 * points));
    const double x = u, y = u * u * u, value = std::asin(u * top);
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x_value += x * value;
    y_value += y * value;
  }
  const double determinant = xx * yy - xy * xy;
  return {.constant = (yy * x_value - xy * y_value) / determinant / top,
          .square = (xx * y_value - xy * x_value) / determinant / (top * top * top)};
}

double sine_slope(double ratio) {
  const double angle = 2 * std::numbers::pi / ratio;
  return 1 + angle * angle / 8;
}

BootstrapLayout::BootstrapLayout(const rlwe::Parameters& parameters) {
  input_level = parameters.lowest_user_level();
  result_level = parameters.highest_user_level();
  top_level = parameters.levels() - 1;
  const std::size_t low = run_length(parameters, 0, LevelPurpose::slots_to_coefficients);
  const std::size_t high = run_length(parameters, result_level + 1, LevelPurpose::slots_to_coefficients);
  order = low != 0 ? BootstrapOrder::slots_first : BootstrapOrder::standard;
  slots_to_coefficients = low != 0 ? low : high;
  slots_to_coefficients_level = low != 0 ? input_level : result_level + high;
  const std::size_t eval_mod_end = result_level + high;
  const std::size_t eval_mod = run_length(parameters, eval_mod_end + 1, LevelPurpose::eval_mod);
  eval_mod_level = eval_mod_end + eval_mod;
  coefficients_to_slots = run_length(parameters, eval_mod_level + 1, LevelPurpose::coefficients_to_slots);
  arcsine = eval_mod == eval_mod_steps + arcsine_steps;
  const bool fits = parameters.scheme() == rlwe::Scheme::ckks &&
                    (low == 0 ? input_level == 0 && high != 0 : high == 0) &&
                    low == (low != 0 ? input_level : 0) && (arcsine || eval_mod == eval_mod_steps) &&
                    coefficients_to_slots != 0 && eval_mod_level + coefficients_to_slots == top_level;
  if (!fits) {
    throw ParameterError(
        "these parameters have no levels for bootstrapping; make them with parameters_for_bootstrapping");
  }
  const auto& scales = parameters.rescaling().scales;
  ratio = last_modulus(parameters) / scales[0].scale;
  // T_8's step drops what the scales do not tell.
  const std::size_t t4_level = eval_mod_level - 3;
  const double bits = std::log2(scales[t4_level].divisor * scales[t4_level - 1].scale) -
                      2 * std::log2(scales[t4_level].scale) + 1;
  constant = std::exp2(std::round(bits));
}

}  // namespace hemera::circuits
