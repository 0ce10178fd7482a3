#include "circuits/functions/sign_stages.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "circuits/functions/chebyshev_series.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// Degrees of the polynomials that a sign is composed of, and the most depth that it may take.
constexpr std::array<std::size_t, 4> stage_degrees{3, 7, 15, 31};
constexpr std::size_t most_sign_depth = 100;

// Polynomials for narrower gaps are those for this one, whose values there hardly differ: their errors would
// be too near 1 for an exchange.
constexpr double least_from = 0x1p-10;
// Points for each degree at which a stage is looked at, and steps to each of its extrema.
constexpr std::size_t points_of_stage = 16;
constexpr int bisections = 60;
// The rounding of sums of rounded numbers.
constexpr double stage_rounding = 0x1p-44;

// Where the error is about this, polynomials for values nearer to 1 gain nothing, and their r(y) grows
// without bounds beside its interval, on the way to y = 0.
constexpr double least_error_bits = 50;

double farthest_from(std::size_t degree) {
  const double growth = std::exp2(least_error_bits / static_cast<double>(degree / 2 + 1));
  return (growth - 1) / (growth + 1);
}

std::vector<double> derivative_of(const std::vector<double>& coefficients) {
  const std::size_t degree = coefficients.size() - 1;
  std::vector<double> result(degree + 2);
  for (std::size_t k = degree; k > 0; --k) {
    result[k - 1] = result[k + 1] + 2 * static_cast<double>(k) * coefficients[k];
  }
  result[0] /= 2;
  result.resize(degree);
  return result;
}

// Where a polynomial changes its sign between two points.
double root_of(const std::vector<double>& coefficients, double low, double high) {
  const bool sign = std::signbit(chebyshev_value(coefficients, low));
  for (int i = 0; i < bisections; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (std::signbit(chebyshev_value(coefficients, middle)) == sign ? low : high) = middle;
  }
  return low;
}

// Values of an odd polynomial on [from, 1]. One of degree d has at most d - 1 extrema: if half of them are
// found there, there are no others. Where rounding hides some, of errors about 2^-50, the range follows from
// points: a polynomial of degree d that is at most 1 at m > d Chebyshev nodes is at most 1 / cos(pi d / 2 m)
// between them (H. Ehlich, K. Zeller, 1964).
Interval range_of(const std::vector<double>& coefficients, double from) {
  const std::size_t degree = coefficients.size() - 1, points = points_of_stage * (degree + 1);
  const std::vector<double> slopes = derivative_of(coefficients);
  Interval range{1, 1};
  const auto take = [&](double value) {
    range = {std::min(range.low, value - stage_rounding), std::max(range.high, value + stage_rounding)};
  };
  std::vector<double> xs{from};
  for (std::size_t point = points; point-- > 0;) {
    const double t =
        std::cos(std::numbers::pi * (static_cast<double>(point) + 0.5) / static_cast<double>(points));
    xs.push_back((1 + from) / 2 + t * (1 - from) / 2);
  }
  const std::vector<double> values = chebyshev_values(coefficients, xs), slope = chebyshev_values(slopes, xs);
  take(values[0]);
  take(chebyshev_value(coefficients, 1));
  std::size_t extrema = 0;
  double distance = 0;
  for (std::size_t i = 1; i <= points; ++i) {
    distance = std::max(distance, std::abs(1 - values[i]));
    if (std::signbit(slope[i - 1]) != std::signbit(slope[i])) {
      ++extrema;
      take(chebyshev_value(coefficients, root_of(slopes, xs[i - 1], xs[i])));
    }
  }
  if (2 * extrema + 1 < degree) {
    distance /= std::cos(std::numbers::pi / 2 * static_cast<double>(degree) / static_cast<double>(points));
    take(1 - distance);
    take(1 + distance);
  }
  return range;
}

}  // namespace

SignStage nearest_to_sign(double given, std::size_t degree) {
  const double from = std::min(given, farthest_from(degree));
  const Approximation inner = approximate([](double y) { return 1 / std::sqrt(y); }, {from * from, 1},
                                          degree / 2, {.weight = [](double y) { return std::sqrt(y); }});
  const auto odd = [&](double x) { return x * inner.polynomial.evaluate(0, x * x).real(); };
  SignStage stage{chebyshev_coefficients(odd, degree), inner.error};
  for (std::size_t k = 0; k <= degree; k += 2) stage.coefficients[k] = 0;
  return stage;
}

SignStage measured_stage(double from, std::size_t degree) {
  SignStage stage = nearest_to_sign(std::max(from, least_from), degree);
  const auto [low, high] = range_of(stage.coefficients, from);
  const double middle = (low + high) / 2;
  for (double& c : stage.coefficients) c /= middle;
  stage.error = low > 0 ? (high - low) / (high + low) + stage_rounding : 1;
  return stage;
}

std::vector<double> values_at(const SignStage& stage, std::vector<double> values) {
  return chebyshev_values(stage.coefficients, std::move(values));
}

std::vector<SignStage> stages_for(double from, double tolerance) {
  std::vector<std::optional<std::vector<SignStage>>> best(most_sign_depth + 1);
  best[0].emplace();
  const auto left_by = [&](const std::vector<SignStage>& row) {
    return row.empty() ? from : row.back().next();
  };
  for (std::size_t depth = 1; depth <= most_sign_depth; ++depth) {
    for (const std::size_t degree : stage_degrees) {
      const auto own = static_cast<std::size_t>(std::bit_width(degree));
      if (own > depth || !best[depth - own]) continue;
      const double gap = left_by(*best[depth - own]);
      SignStage stage = nearest_to_sign(gap, degree);
      // A narrow gap leaves errors nearer to 1 than the approximation's margin.
      if (!(stage.error < 1)) stage = measured_stage(gap, degree);
      if (!(stage.error < 1) || (best[depth] && left_by(*best[depth]) >= stage.next())) continue;
      best[depth] = best[depth - own];
      best[depth]->push_back(std::move(stage));
    }
    if (best[depth] && best[depth]->back().error <= tolerance) return *best[depth];
  }
  throw ParameterError("no sign of a depth up to " + std::to_string(most_sign_depth) + " is within 2^" +
                       std::to_string(std::log2(tolerance)) + "; allow a larger error, or a larger gap");
}

Function::Value add_sign(Function& function, Function::Value x, const std::vector<SignStage>& stages,
                         const Interval& interval, double factor, double shift, double map_bits) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool is_last = i + 1 == stages.size();
    // The next stages are defined up to 1.
    const double own = is_last ? factor : 1 / (1 + stages[i].error);
    std::vector<double> coefficients = stages[i].coefficients;
    for (double& c : coefficients) c *= own;
    if (is_last) coefficients[0] += shift;
    const Polynomial stage({coefficients.begin(), coefficients.end()}, Basis::chebyshev,
                           i == 0 ? interval : Interval{});
    x = function.add(x, stage.with_map_bits(map_bits));
  }
  return x;
}

double sign_at(const std::vector<SignStage>& stages, double t) {
  for (const SignStage& stage : stages) {
    t = chebyshev_value(stage.coefficients, t);
    if (&stage != &stages.back()) t /= 1 + stage.error;
  }
  return t;
}

}  // namespace hemera::circuits
