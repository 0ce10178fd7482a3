#include "circuits/bootstrap/bootstrap_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/bootstrap/nested_series.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using rlwe::LevelPurpose;

// The largest shapes of the sine. Larger series take seconds to fit.
constexpr std::size_t largest_degree = 127;
constexpr std::size_t most_doublings = 10;
// The largest probability that a bootstrap meets an integer beyond the range.
constexpr double largest_failure_log2 = -30;
// Largest sum of a cosine's coefficients' magnitudes: fits that few points determine have larger ones.
constexpr double largest_sum = 0x1p10;
// log2 by which a level's scale may differ from that of a product of blocks.
constexpr double most_off = 0x1p-10;

// Levels of this purpose that follow each other upwards from `first`.
std::size_t run_length(const rlwe::Parameters& parameters, std::size_t first, LevelPurpose purpose) {
  std::size_t level = first;
  while (level < parameters.levels() && parameters.purpose(level) == purpose) ++level;
  return level - first;
}

// Whether EvalMod's levels are those of products of blocks: each has the square of the scale above it, and
// the last one ends with the user's, times this gain.
bool has_block_products(const rlwe::Parameters& parameters, std::size_t end, std::size_t begin,
                        double last_gain) {
  const auto& scales = parameters.rescaling().scales;
  const auto is_square = [&](std::size_t level, double result) {
    const double gain = scales[level].divisor * result / (scales[level].scale * scales[level].scale);
    return std::abs(std::log2(gain)) < most_off;
  };
  for (std::size_t level = begin; level > end + 1; --level) {
    if (!is_square(level, scales[level - 1].scale)) return false;
  }
  return begin > end && is_square(end + 1, scales[end].scale * last_gain);
}

}  // namespace

double last_modulus(const rlwe::Parameters& parameters) {
  double product = 1;
  for (const std::uint64_t prime : parameters.literal().levels.front()) product *= static_cast<double>(prime);
  return product;
}

double matrix_scale(const rlwe::Parameters& parameters, std::size_t level) {
  const auto& scales = parameters.rescaling().scales;
  return scales[level - 1].scale * (scales[level].divisor / scales[level].scale);
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

double roots_gain(double ratio, bool is_exponential) {
  return is_exponential ? 1 : ratio * sine_slope(ratio) / (4 * std::numbers::pi);
}

BootstrapLayout::BootstrapLayout(const rlwe::Parameters& parameters) {
  input_level = parameters.lowest_user_level();
  result_level = parameters.highest_user_level();
  top_level = parameters.levels() - 1;
  const std::size_t low = run_length(parameters, 0, LevelPurpose::slots_to_coefficients);
  const std::size_t high = run_length(parameters, result_level + 1, LevelPurpose::slots_to_coefficients);
  order = low != 0    ? BootstrapOrder::slots_first
          : high != 0 ? BootstrapOrder::standard
                      : BootstrapOrder::from_coefficients;
  slots_to_coefficients = low != 0 ? low : high;
  slots_to_coefficients_level = low != 0 ? input_level : result_level + high;
  const std::size_t eval_mod_end_level = result_level + high;
  const std::size_t eval_mod = run_length(parameters, eval_mod_end_level + 1, LevelPurpose::eval_mod);
  eval_mod_level = eval_mod_end_level + eval_mod;
  coefficients_to_slots = run_length(parameters, eval_mod_level + 1, LevelPurpose::coefficients_to_slots);
  const auto& scales = parameters.rescaling().scales;
  std::vector<double> gains;  // of EvalMod's steps, but for the last one
  for (std::size_t level = eval_mod_level; level > eval_mod_end_level + 1; --level) {
    gains.push_back(std::log2(2 * scales[level].divisor * scales[level - 1].scale) -
                    2 * std::log2(scales[level].scale));
  }
  ratio = last_modulus(parameters) / scales[0].scale;
  const bool is_ckks = parameters.scheme() == rlwe::Scheme::ckks;
  const bool may_have_blocks = is_ckks && low != 0 && low == input_level && high == 0 &&
                               coefficients_to_slots == 1 && eval_mod_level + 1 == top_level;
  for (const bool is_exponential : {false, true}) {
    if (!may_have_blocks || !has_block_products(parameters, eval_mod_end_level, eval_mod_level,
                                                roots_gain(ratio, is_exponential))) {
      continue;
    }
    blocks = std::size_t{1} << eval_mod;
    sine.exponential = is_exponential;
    return;
  }
  const std::optional<SineLevels> found = find_sine(gains);
  const bool fits = is_ckks && (low == 0 ? input_level == 0 : high == 0) &&
                    low == (low != 0 ? input_level : 0) && found && coefficients_to_slots != 0 &&
                    eval_mod_level + coefficients_to_slots == top_level;
  if (!fits) {
    throw ParameterError(
        "these parameters have no levels for bootstrapping; " +
        Message(WayOut::bootstrapping_parameters, "make them with parameters_for_bootstrapping"));
  }
  arcsine = found->arcsine;
  sine.degree = found->degree;
  sine.doublings = found->doublings;
  sine.exponential = found->exponential;
  sine.nested = found->nested;
  constant_bits = found->constant_bits;
}

EvalModSeries checked_series(const SineShape& sine, double ratio, std::size_t ring_degree) {
  const std::string what = std::string(sine.exponential ? "an exponential" : "EvalMod") +
                           " with integers below " + std::to_string(sine.range) + ", a series of degree " +
                           std::to_string(sine.degree) + " and " + std::to_string(sine.doublings) +
                           " doublings: ";
  if (sine.range < 2 || sine.range > largest_sine_range || sine.degree < 1 || sine.degree > largest_degree ||
      sine.doublings > most_doublings) {
    throw ParameterError(what + "the range must be from 2 to " + std::to_string(largest_sine_range) +
                         ", the degree from 1 to " + std::to_string(largest_degree) +
                         ", the doublings at most " + std::to_string(most_doublings));
  }
  static_cast<void>(rlwe::ephemeral_secret_of(sine.weight / sine.terms));  // is one
  const double failure = failure_log2(sine.range, sine.weight, ring_degree, sine.terms, ring_degree);
  if (failure > largest_failure_log2) {
    throw ParameterError(what + "a bootstrap would meet a larger integer with a probability of 2^" +
                         std::to_string(std::min(failure, 0.0)) + "; use a larger range");
  }
  if (sine.exponential && sine.doublings < least_exponential_doublings) {
    throw ParameterError(what + "it needs at least " + std::to_string(least_exponential_doublings));
  }
  if (sine.nested) {
    if (!fits_nested(sine)) {
      throw ParameterError(
          what +
          "there are nested products for integers below 16, degree 15 and 3 doublings alone; "
          "leave sine_range, sine_degree and doublings out, or nested_sine");
    }
    if (!sine.exponential && ratio < least_near_ratio) {
      throw ParameterError(what +
                           "nested products are a sine near the integers alone; leave nested_sine out, or "
                           "use a ratio_bits of 3 or more");
    }
    return checked_nested_series(sine.exponential);
  }
  EvalModRequest request{.range = sine.range,
                         .degree = sine.degree,
                         .doublings = sine.doublings,
                         .weight = sine.weight,
                         .coefficients = ring_degree};
  if (ratio < least_near_ratio) {
    // Rare integers count like others: of so few bits a message has none to lose.
    request.radius_log2 = -1;
    request.trust = 0;
  }
  if (!sine.exponential && sine.degree >= most_coefficients(request)) {
    throw ParameterError(what + "such a range determines no more than " +
                         std::to_string(most_coefficients(request)) + " coefficients; use a smaller degree");
  }
  EvalModSeries series =
      sine.exponential ? exponential_series(sine.range, sine.degree, sine.doublings) : fit_eval_mod(request);
  double sum = 0;
  for (const auto& coefficient : series.coefficients) sum += std::abs(coefficient.value);
  if (!(sum < largest_sum)) {
    throw ParameterError(what + "its coefficients add up to 2^" + std::to_string(std::log2(sum)) +
                         ", which costs all precision; use a larger degree, or more doublings");
  }
  const double error = mean_error_log2(series, sine.weight) + std::log2(ratio);
  if (!(error < -1)) {
    throw ParameterError(what + "the error is 2^" + std::to_string(error) +
                         " of the message; use a larger degree, more doublings or a smaller range");
  }
  return series;
}

}  // namespace hemera::circuits
