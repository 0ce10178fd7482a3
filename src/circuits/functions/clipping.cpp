#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "circuits/functions/sign_stages.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;

// Gaps of the sign that are tried, from the widest: it takes the least depth.
constexpr double widest_gap = 0.25, least_gap = 0x1p-40;
// Samples lie at distances from the ends that grow by this factor.
constexpr double growth = 1.01;
// A function is made this part of the interval beyond its ends, for what a clip leaves there.
constexpr double margin = 1.0 / 16;

// x between the ends: (|x - low| - |x - high| + low + high) / 2, each |t| as t sign(t), for |x| <= largest.
struct Clip {
  Interval ends;
  double span;  // of |x - low| and |x - high|
  std::vector<SignStage> stages;

  [[nodiscard]] double operator()(double x) const {
    const double low = x - ends.low, high = x - ends.high;
    return (low * sign_at(stages, low / span) - high * sign_at(stages, high / span) + ends.low + ends.high) /
           2;
  }

  Value add_to(Function& function, Value x) const {
    const auto sign_from = [&](double end, double factor) {
      return add_sign(function, x, stages, {end - span, end + span}, factor, 0);
    };
    const Value low = sign_from(ends.low, 0.5), high = sign_from(ends.high, -0.5);
    return function.add({.products = {{x, low}, {x, high}},
                         .terms = {{low, {-ends.low}}, {high, {-ends.high}}},
                         .constant = {(ends.low + ends.high) / 2}});
  }
};

// Where what a clip does is looked at: all of [-largest, largest], densely at both ends of the interval.
std::vector<double> samples_of(const Interval& ends, double largest, double nearest) {
  std::vector<double> samples{-largest, largest, ends.low, ends.high};
  for (double distance = nearest; distance < 2 * largest; distance *= growth) {
    for (const double end : {ends.low, ends.high}) {
      for (const double x : {end - distance, end + distance}) {
        if (std::abs(x) <= largest) samples.push_back(x);
      }
    }
  }
  return samples;
}

std::vector<double> values_of(const Function& f, std::span<const double> x) {
  const std::vector<std::vector<Complex>> rows(1, std::vector<Complex>(x.begin(), x.end()));
  std::vector<double> values;
  const std::vector<std::vector<Complex>> found = f.evaluate(rows);
  for (const Complex& value : found.front()) values.push_back(value.real());
  return values;
}

double steepest_slope(const Function& f, const Interval& ends) {
  constexpr int count = 1024;
  const double step = (ends.high - ends.low) / count;
  std::vector<double> x;
  for (int i = 0; i <= count; ++i) x.push_back(ends.low + step * i);
  const std::vector<double> values = values_of(f, x);
  double slope = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    slope = std::max(slope, std::abs(values[i] - values[i - 1]) / step);
  }
  return slope;
}

// f of the clip with the widest gap that leaves this error; f holds in its interval, which is wider than the
// ends.
Function composed(const Function& f, const Interval& ends, double tolerance, double largest) {
  const double span = largest + std::max(std::abs(ends.low), std::abs(ends.high));
  const double slope = steepest_slope(f, ends);
  const std::vector<double> samples = samples_of(ends, largest, tolerance / (16 * std::max(1.0, slope)));
  std::vector<double> inside;
  for (const double x : samples) inside.push_back(std::clamp(x, ends.low, ends.high));
  const std::vector<double> expected = values_of(f, inside);
  double bound = 0;
  for (const double value : expected) bound = std::max(bound, std::abs(value));
  const Interval& own = f.inputs().front();
  for (double gap = widest_gap; gap > least_gap; gap /= 2) {
    const Clip clip{ends, span, stages_for(gap, std::min(0.5, tolerance / (4 * slope * span)))};
    std::vector<double> found;
    double outside = 0;
    for (const double x : samples) {
      found.push_back(clip(x));
      outside = std::max({outside, found.back() - own.high, own.low - found.back()});
    }
    if (outside > 0) continue;
    const std::vector<double> values = values_of(f, found);
    double error = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      error = std::max(error, std::abs(values[i] - expected[i]));
    }
    if (error > tolerance) continue;
    Function function(std::vector{Interval{-largest, largest}});
    const Value x = clip.add_to(function, 0);
    function.set_outputs(function.add(f, std::span(&x, 1)));
    function.set_error(error + f.error());
    function.set_largest({bound});
    return function;
  }
  throw ParameterError("no clip to the interval from " + std::to_string(ends.low) + " to " +
                       std::to_string(ends.high) + " is within 2^" + std::to_string(std::log2(tolerance)) +
                       "; allow a larger error, or a smaller largest value");
}

void require_clip(const Interval& ends, double tolerance, double largest) {
  if (!(tolerance > 0) || !std::isfinite(tolerance)) {
    throw ParameterError("a clip needs an error above 0 that it may have, not " + std::to_string(tolerance));
  }
  const bool is_interval = ends.low < ends.high && std::isfinite(ends.high - ends.low);
  if (is_interval && largest > std::max(std::abs(ends.low), std::abs(ends.high)) && std::isfinite(largest)) {
    return;
  }
  char text[240];
  std::snprintf(
      text, sizeof(text),
      "a clip of values of a magnitude of up to %.6g to the interval from %.6g to %.6g; the ends must "
      "be finite, the first below the second, and the magnitude finite and above those of both",
      largest, ends.low, ends.high);
  throw ParameterError(text);
}

}  // namespace

Function clip(const Interval& interval, double tolerance, double largest) {
  require_clip(interval, tolerance, largest);
  // Clips the identity, which has no part.
  Function identity(std::vector{Interval{-2 * largest, 2 * largest}});
  identity.set_outputs({0});
  return composed(identity, interval, tolerance, largest);
}

Function clipped(const FunctionMaker& make, const Interval& interval, double tolerance, double largest) {
  require_clip(interval, tolerance, largest);
  // An interval on one side of 0 stays there when it is widened.
  const double extra = margin * (interval.high - interval.low);
  const Interval wider{
      interval.low > 0 ? std::max(interval.low / 2, interval.low - extra) : interval.low - extra,
      interval.high < 0 ? std::min(interval.high / 2, interval.high + extra) : interval.high + extra};
  const Function f = make(wider, tolerance / 2);
  return composed(f, interval, tolerance - f.error(), largest);
}

}  // namespace hemera::circuits
