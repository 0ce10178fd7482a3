#include "hemera/circuits/functions/approximation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/functions/chebyshev_series.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using std::numbers::pi;

constexpr std::size_t grid_density = 32;  // points of the grid for each coefficient
constexpr std::size_t least_grid = 512;
constexpr int most_exchanges = 40;
constexpr double levelled = 1e-4;  // relative difference of the extrema at which exchanges end
constexpr double symmetric = 0x1p-40;

// f and the weight at the Chebyshev points cos(pi j / last), the first one at the interval's high end.
struct Grid {
  std::vector<double> t, values, weights;

  Grid(const RealFunction& f, const Interval& interval, std::size_t degree, const RealFunction& weight) {
    const std::size_t last = std::max(least_grid, grid_density * (degree + 1));
    for (std::size_t j = 0; j <= last; ++j) {
      // Exactly symmetric.
      const double angle =
          pi * (static_cast<double>(last) - 2.0 * static_cast<double>(j)) / (2.0 * static_cast<double>(last));
      t.push_back(std::sin(angle));
      const double x = at(interval, t.back());
      values.push_back(f(x));
      weights.push_back(weight ? weight(x) : 1);
      if (!std::isfinite(values.back()) || !(weights.back() > 0) || !std::isfinite(weights.back())) {
        throw ParameterError("the function to approximate, or the weight of its errors, is not finite at " +
                             std::to_string(x) + ", or the weight not positive");
      }
    }
  }
  static double at(const Interval& interval, double t) {
    if (t == 1 || t == -1) return t > 0 ? interval.high : interval.low;
    return (interval.low + interval.high) / 2 + t * (interval.high - interval.low) / 2;
  }
  [[nodiscard]] std::size_t size() const { return t.size(); }
};

// The weighted error at t, and what rounding may make of it.
class WeightedError {
 public:
  WeightedError(const RealFunction& f, const Interval& interval, const RealFunction& weight,
                const std::vector<double>& coefficients)
      : f_(f), interval_(interval), weight_(weight), coefficients_(coefficients) {
    for (const double c : coefficients) size_ += std::abs(c);
  }
  [[nodiscard]] double operator()(double t) const {
    const double x = Grid::at(interval_, t);
    return (weight_ ? weight_(x) : 1) *
           (std::abs(f_(x) - chebyshev_value(coefficients_, t)) + 0x1p-50 * size_);
  }

 private:
  const RealFunction& f_;
  const Interval& interval_;
  const RealFunction& weight_;
  const std::vector<double>& coefficients_;
  double size_ = 0;
};

// The largest error: that of the grid as for polynomials of the degree, or where it is larger, that of the
// vertices of parabolas through the grid's extrema and their neighbours.
double largest_error(const Grid& grid, const std::vector<double>& coefficients, const WeightedError& at) {
  std::vector<double> errors = chebyshev_values(coefficients, grid.t);
  for (std::size_t j = 0; j < grid.size(); ++j) {
    errors[j] = grid.weights[j] * std::abs(grid.values[j] - errors[j]);
  }
  const double largest = *std::max_element(errors.begin(), errors.end());
  double result = largest / std::cos(pi / (2.0 * static_cast<double>(grid_density)));
  constexpr double near = 0.99;  // a parabola adds less than a hundredth
  for (std::size_t j = 0; j < grid.size(); ++j) {
    if (errors[j] < near * largest) continue;
    if (j == 0 || j + 1 == grid.size()) {
      result = std::max(result, at(grid.t[j]));
      continue;
    }
    if (errors[j] < errors[j - 1] || errors[j] < errors[j + 1]) continue;
    // In the angle points are equally far from each other, by this much.
    const double step = pi / static_cast<double>(grid.size() - 1);
    const double curvature = errors[j - 1] - 2 * errors[j] + errors[j + 1];
    const double shift = curvature < 0 ? (errors[j - 1] - errors[j + 1]) / (2 * curvature) : 0;
    result = std::max(result, at(std::cos((static_cast<double>(j) + shift) * step)));
  }
  return result;
}

// The polynomial through degree + 2 points of the grid whose weighted errors there alternate and are equal.
class Reference {
 public:
  Reference(const Grid& grid, std::vector<std::size_t> points) : grid_(&grid), points_(std::move(points)) {
    const std::size_t n = points_.size();
    double numerator = 0, denominator = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double product = 1;
      for (std::size_t j = 0; j < n; ++j) {
        // The factor keeps products near 1 on an interval of length 2.
        if (j != i) product *= 2 * (grid.t[points_[i]] - grid.t[points_[j]]);
      }
      barycentric_.push_back(1 / product);
      numerator += barycentric_[i] * grid.values[points_[i]];
      denominator += barycentric_[i] * sign(i) / grid.weights[points_[i]];
    }
    level_ = numerator / denominator;
    for (std::size_t i = 0; i < n; ++i) {
      values_.push_back(grid.values[points_[i]] - sign(i) * level_ / grid.weights[points_[i]]);
    }
  }

  [[nodiscard]] double level() const { return std::abs(level_); }

  [[nodiscard]] std::vector<double> at(const std::vector<double>& t) const {
    std::vector<double> result(t.size()), denominators(t.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double own = grid_->t[points_[i]], of_value = barycentric_[i] * values_[i];
      for (std::size_t j = 0; j < t.size(); ++j) {
        result[j] += of_value / (t[j] - own);
        denominators[j] += barycentric_[i] / (t[j] - own);
      }
    }
    for (std::size_t j = 0; j < t.size(); ++j) {
      result[j] /= denominators[j];
      for (std::size_t i = 0; std::isnan(result[j]) && i < points_.size(); ++i) {
        if (t[j] == grid_->t[points_[i]]) result[j] = values_[i];
      }
    }
    return result;
  }

 private:
  static double sign(std::size_t i) { return i % 2 == 0 ? 1 : -1; }

  const Grid* grid_;
  std::vector<std::size_t> points_;
  std::vector<double> barycentric_, values_;
  double level_ = 0;
};

// The largest `count` extrema of alternating sign; all if there are fewer.
std::vector<std::size_t> alternating_extrema(const std::vector<double>& errors, std::size_t count) {
  std::vector<std::size_t> extrema;
  for (std::size_t j = 0; j < errors.size(); ++j) {
    if (extrema.empty() || (errors[j] < 0) != (errors[extrema.back()] < 0)) {
      extrema.push_back(j);
    } else if (std::abs(errors[j]) > std::abs(errors[extrema.back()])) {
      extrema.back() = j;
    }
  }
  const auto size_at = [&](std::size_t i) { return std::abs(errors[extrema[i]]); };
  while (extrema.size() > count) {
    if (extrema.size() == count + 1) {
      extrema.erase(size_at(0) < size_at(extrema.size() - 1) ? extrema.begin() : extrema.end() - 1);
      break;
    }
    // Two neighbours leave, so that signs go on alternating.
    std::size_t smallest = 0;
    for (std::size_t i = 1; i + 1 < extrema.size(); ++i) {
      if (std::max(size_at(i), size_at(i + 1)) < std::max(size_at(smallest), size_at(smallest + 1)))
        smallest = i;
    }
    const auto first = extrema.begin() + static_cast<std::ptrdiff_t>(smallest);
    extrema.erase(first, first + 2);
  }
  return extrema;
}

// Chebyshev coefficients. None where the equal errors of a round are above the tolerance: the largest error
// of each polynomial is at least as large (C. de la Vallee Poussin, 1919).
std::vector<double> minimax(const Grid& grid, std::size_t degree, std::optional<double> tolerance) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i <= degree + 1; ++i) points.push_back(i * (grid.size() - 1) / (degree + 1));
  const std::vector<double> nodes = chebyshev_nodes(degree + 1);
  std::vector<double> best;
  double least = HUGE_VAL;
  for (int round = 0; round < most_exchanges; ++round) {
    const Reference polynomial(grid, points);
    if (tolerance && polynomial.level() > *tolerance) return {};
    std::vector<double> coefficients = chebyshev_coefficients(polynomial.at(nodes));
    std::vector<double> errors = chebyshev_values(coefficients, grid.t);
    for (std::size_t j = 0; j < grid.size(); ++j) errors[j] = grid.weights[j] * (grid.values[j] - errors[j]);
    const auto size = [&](std::size_t j) { return std::abs(errors[j]); };
    double largest = 0;
    for (std::size_t j = 0; j < errors.size(); ++j) largest = std::max(largest, size(j));
    if (largest < least) {
      least = largest;
      best = std::move(coefficients);
    }
    points = alternating_extrema(errors, degree + 2);
    if (points.size() < degree + 2) break;
    double smallest = largest;
    for (const std::size_t point : points) smallest = std::min(smallest, size(point));
    if (largest - smallest <= levelled * largest) break;
  }
  return best;
}

// 1: f is even, -1: it is odd, 0: neither.
int parity(const Grid& grid, const Interval& interval) {
  if (std::abs(interval.low + interval.high) > symmetric * (interval.high - interval.low)) return 0;
  double largest = 0, even = 0, odd = 0;
  for (std::size_t j = 0; j < grid.size(); ++j) {
    const double value = grid.values[j], mirrored = grid.values[grid.size() - 1 - j];
    if (std::abs(grid.weights[j] / grid.weights[grid.size() - 1 - j] - 1) > symmetric) return 0;
    largest = std::max(largest, std::abs(value));
    even = std::max(even, std::abs(value - mirrored));
    odd = std::max(odd, std::abs(value + mirrored));
  }
  if (even <= symmetric * largest) return 1;
  return odd <= symmetric * largest ? -1 : 0;
}

// The nearest polynomial. With a tolerance: that of the values at the nodes where it is within it, and where
// no polynomial is, one that is not either.
Approximation nearest(const RealFunction& f, const Interval& interval, std::size_t degree,
                      const ApproximationOptions& options, std::optional<double> tolerance) {
  static_cast<void>(Polynomial({0}, Basis::chebyshev, interval));  // checks the interval
  const Grid grid(f, interval, degree, options.weight);
  const int symmetry = parity(grid, interval);
  const auto cleaned = [&](std::vector<double> coefficients) {
    for (std::size_t k = 0; k < coefficients.size() && symmetry != 0; ++k) {
      if ((k % 2 == 0) != (symmetry == 1)) coefficients[k] = 0;
    }
    return coefficients;
  };
  const auto error_of = [&](const std::vector<double>& coefficients) {
    return largest_error(grid, coefficients, {f, interval, options.weight, coefficients});
  };
  std::vector<double> chosen =
      cleaned(chebyshev_coefficients([&](double t) { return f(Grid::at(interval, t)); }, degree));
  double error = error_of(chosen);
  if (options.fit == Fit::minimax && !(tolerance && error <= *tolerance)) {
    // The nearest even polynomial of an even function is also that of one degree more, and likewise for odd
    // ones. With mirrored points for its own degree the errors would have no level.
    const bool is_also_above = symmetry != 0 && (degree % 2 == 0) == (symmetry == 1);
    std::vector<double> exchanged = minimax(grid, degree + (is_also_above ? 1 : 0), tolerance);
    if (!exchanged.empty()) exchanged.resize(degree + 1);
    exchanged = cleaned(std::move(exchanged));
    const double own = exchanged.empty() ? HUGE_VAL : error_of(exchanged);
    if (own < error) {
      error = own;
      chosen = std::move(exchanged);
    }
  }
  return {Polynomial({chosen.begin(), chosen.end()}, Basis::chebyshev, interval), error};
}

}  // namespace

Approximation approximate(const RealFunction& f, const Interval& interval, std::size_t degree,
                          const ApproximationOptions& options) {
  if (degree > most_approximation_degree) {
    throw ParameterError("an approximation of degree " + std::to_string(degree) + "; at most " +
                         std::to_string(most_approximation_degree) + " is possible");
  }
  return nearest(f, interval, degree, options, {});
}

Approximation approximate_within(const RealFunction& f, const Interval& interval, double tolerance,
                                 const ApproximationOptions& options) {
  if (!(tolerance > 0)) {
    throw ParameterError("an approximation needs an error above 0 that it may have, not " +
                         std::to_string(tolerance));
  }
  const auto suffices = [&](std::size_t degree) {
    return nearest(f, interval, degree, options, tolerance).error <= tolerance;
  };
  std::size_t below = 0, degree = suffices(0) ? 0 : 1;
  while (degree > 0 && !suffices(degree)) {
    if (degree == most_approximation_degree) {
      throw ParameterError("no polynomial up to degree " + std::to_string(degree) + " is within 2^" +
                           std::to_string(std::log2(tolerance)) + " of the function: the last error was 2^" +
                           std::to_string(std::log2(approximate(f, interval, degree, options).error)) +
                           "; allow a larger error, or use a smaller interval");
    }
    below = degree;
    degree = 2 * degree + 1;
  }
  while (degree > below + 1) {
    const std::size_t middle = below + (degree - below) / 2;
    (suffices(middle) ? degree : below) = middle;
  }
  return approximate(f, interval, degree, options);
}

}  // namespace hemera::circuits
