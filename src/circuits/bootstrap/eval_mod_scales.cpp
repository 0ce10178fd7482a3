#include "circuits/bootstrap/eval_mod_scales.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <variant>

#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/circuit_gadgets.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;

// The amplification that all presets have, and their number of sources of error (steps, and the parts of the
// series beside T_2, T_4 and T_8): measured by putting errors into the steps of the clear series. Their
// chains stay as they are.
constexpr SineShape usual{};
constexpr std::array<double, 9> usual_amplification = {4.0, 7.0, 5.1, 3.1, 2.3, 1.9, 0.3, -1.2, -2.6};
constexpr double usual_sources = 12;

bool is_usual(const SineShape& shape) {
  return !shape.exponential && !shape.nested && shape.range == usual.range && shape.weight == usual.weight &&
         shape.doublings == usual.doublings && series_log_size(shape.degree) == series_log_size(usual.degree);
}

// Where a value of the sine lies, and log2 of its scale over that of its level.
struct Place {
  std::size_t depth = 0;
  double scale_log2 = 0;
};

std::vector<Place> places_of(const Function& sine, const std::vector<double>& gains) {
  std::vector<Place> places(1);
  for (const auto& part : sine.parts()) {
    const auto& sum = std::get<Function::Sum>(part);
    Place place;
    for (const auto& [a, b] : sum.products) {
      place.depth = std::max({place.depth, places[a].depth, places[b].depth});
    }
    for (const auto& term : sum.terms) place.depth = std::max(place.depth, places[term.value].depth);
    if (sum.fraction_bits) {
      const Function::Term& first = sum.terms.front();
      // A fraction of 0 bits: the scale takes the factor.
      const double taken = *sum.fraction_bits == 0 ? -std::log2(first.factor.front().real()) : 0;
      place.scale_log2 = places[first.value].scale_log2 + *sum.fraction_bits + taken;
    } else {
      ++place.depth;
      if (!sum.products.empty()) {
        const auto& [a, b] = sum.products.front();
        place.scale_log2 =
            places[a].scale_log2 + places[b].scale_log2 + (sum.factor == 2 ? 0 : 1) - gains[place.depth - 1];
      }
    }
    places.push_back(place);
  }
  return places;
}

// Adds, level by level, what errors of values of one each make of the error of t, squared, times a share.
void add_variances(std::vector<double>& variances, const Function& sine, const std::vector<Place>& places,
                   Complex input, double share) {
  std::vector<Complex> values = {input};
  for (const auto& part : sine.parts()) {
    const auto& sum = std::get<Function::Sum>(part);
    Complex products = 0, rest = sum.constant.front().real();
    for (const auto& [a, b] : sum.products) products += values[a] * values[b];
    for (const auto& term : sum.terms) rest += term.factor.front().real() * values[term.value];
    values.push_back(static_cast<double>(sum.factor) * products + rest);
  }
  // The derivative of t by each value, from the last to the first.
  std::vector<Complex> slopes(values.size(), 0);
  slopes[sine.outputs().front()] = 1 / (2 * std::numbers::pi);
  for (std::size_t i = sine.parts().size(); i-- > 0;) {
    const auto& sum = std::get<Function::Sum>(sine.parts()[i]);
    const Complex slope = slopes[i + 1];
    for (const auto& [a, b] : sum.products) {
      slopes[a] += static_cast<double>(sum.factor) * slope * values[b];
      slopes[b] += static_cast<double>(sum.factor) * slope * values[a];
    }
    for (const auto& term : sum.terms) slopes[term.value] += slope * term.factor.front().real();
    if (sum.fraction_bits) continue;  // no division
    const Place& place = places[i + 1];
    variances[place.depth] += share * std::pow(std::abs(slope) * std::exp2(-place.scale_log2), 2);
  }
  variances[0] += share * std::norm(slopes[0]);
}

}  // namespace

std::vector<double> sine_amplification(const SineShape& shape, const EvalModSeries& series) {
  constexpr int fraction_bits = 40;  // any: errors do not depend on it
  const auto range = static_cast<double>(shape.range);
  const Function sine = sine_function({.range = range,
                                       .series = series.coefficients,
                                       .doublings = shape.doublings,
                                       .fraction_bits = fraction_bits,
                                       .arcsine = std::nullopt,
                                       .exponential = shape.exponential,
                                       .nested = shape.nested});
  const std::vector<Place> places_in_levels = places_of(sine, sine_step_gains(shape, fraction_bits));
  std::vector<double> variances(sine_step_count(shape) + 1, 0);
  // The input of an exponential lies anywhere between the integers.
  const std::vector<double> places =
      shape.exponential ? std::vector{-0.375, -0.125, 0.125, 0.375} : std::vector{0.0};
  const auto last = static_cast<long>(std::min(shape.range - 1, (shape.weight + 1) / 2));
  for (long integer = -last; integer <= last; ++integer) {
    const double share = std::exp2(overflow_log2(static_cast<std::size_t>(std::abs(integer)), shape.weight)) /
                         static_cast<double>(places.size());
    for (const double place : places) {
      const double v = (static_cast<double>(integer) + place) / range;
      add_variances(variances, sine, places_in_levels, shape.exponential ? Complex(0, v) : v, share);
    }
  }
  std::vector<double> result;
  for (const double variance : variances) result.push_back(0.5 * std::log2(variance));
  return result;
}

EvalModScales water_filled(const SineShape& shape, const EvalModSeries& series, double error_log2,
                           double rounding_log2) {
  const bool is_known = is_usual(shape);
  const std::vector<double> amplification =
      is_known ? std::vector<double>(usual_amplification.begin(), usual_amplification.end())
               : sine_amplification(shape, series);
  const double sources = is_known ? usual_sources : static_cast<double>(amplification.size());
  const double each = rounding_log2 - (error_log2 - 0.5 * std::log2(sources));
  EvalModScales scales{.v = amplification[0] + each, .after = {}};
  for (std::size_t i = 1; i < amplification.size(); ++i) scales.after.push_back(amplification[i] + each);
  return scales;
}

std::vector<double> dropped_bits(const SineShape& shape, const EvalModScales& scales, int constant_bits,
                                 double result) {
  const std::vector<double> gains = sine_step_gains(shape, constant_bits);
  std::vector<double> bits;
  double before = scales.v;
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const double after = i + 1 == gains.size() ? result : scales.after[i];
    bits.push_back(2 * before - 1 + gains[i] - after);
    before = after;
  }
  return bits;
}

std::vector<double> scales_after(const SineShape& shape, double v, std::span<const double> divisors,
                                 int constant_bits) {
  std::vector<double> scales;
  double before = v;
  for (const double gain : sine_step_gains(shape, constant_bits)) {
    before = before * before / 2 * std::exp2(gain) / divisors[scales.size()];
    scales.push_back(before);
  }
  return scales;
}

}  // namespace hemera::circuits
