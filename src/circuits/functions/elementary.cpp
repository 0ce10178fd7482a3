#include "hemera/circuits/functions/elementary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "circuits/functions/chebyshev_series.hpp"
#include "circuits/functions/root_stages.hpp"
#include "circuits/functions/sign_stages.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;

// Degrees of polynomials that iterations start from: all that their depth allows.
constexpr std::array<std::size_t, 7> start_degrees{1, 3, 7, 15, 31, 63, 127};
constexpr std::size_t most_iterations = 30;
// Files have a function's name and numbers, so a square root by iterations stays one for fewer levels than
// these.
constexpr std::size_t levels_worth_another = 4;

void require_tolerance(double tolerance) {
  if (!(tolerance > 0) || !std::isfinite(tolerance)) {
    throw ParameterError("a function needs an error above 0 that it may have, not " +
                         std::to_string(tolerance));
  }
}

// The largest |f| at Chebyshev nodes and both ends: the largest there is, but for what a smooth function does
// between nodes.
double largest_over(const RealFunction& f, const Interval& interval) {
  constexpr int nodes = 4096;
  double largest = 0;
  for (int i = 0; i <= nodes; ++i) {
    const double t = std::cos(std::numbers::pi * i / nodes);
    const double middle = (interval.low + interval.high) / 2, half = (interval.high - interval.low) / 2;
    const double value = f(i == 0 ? interval.high : i == nodes ? interval.low : middle + t * half);
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double chebyshev(std::size_t n, double t) {
  const auto degree = static_cast<double>(n);
  if (std::abs(t) <= 1) return std::cos(degree * std::acos(t));
  return (t < 0 && n % 2 == 1 ? -1 : 1) * std::cosh(degree * std::acosh(std::abs(t)));
}

// The function of the least depth, and then of the fewest products.
struct Choice {
  std::size_t depth, products, degree, iterations;

  [[nodiscard]] bool is_better_than(const std::optional<Choice>& other) const {
    return !other || std::pair(depth, products) < std::pair(other->depth, other->products);
  }
};

// About the products of ciphertexts that a polynomial takes.
std::size_t products_of(std::size_t degree) {
  return static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(degree)));
}

// 1 / x on an interval, or a numerator over x: a polynomial y with the least |1 - x y|, and iterations.
class Reciprocal {
 public:
  Reciprocal(const Interval& interval, double tolerance, bool has_numerator)
      : interval_(interval),
        nearest_(std::min(std::abs(interval.low), std::abs(interval.high))),
        map_(map_of(interval)) {
    if (!(interval.low > 0) && !(interval.high < 0)) {
      throw ParameterError("an inverse on an interval from " + std::to_string(interval.low) + " to " +
                           std::to_string(interval.high) + ", which must not have 0 in it");
    }
    std::optional<Choice> best;
    const auto fits = [&](std::size_t degree, std::size_t iterations) {
      return error(degree, iterations) <= tolerance * nearest_;
    };
    for (const std::size_t degree : start_degrees) {
      std::size_t iterations = 0;
      while (iterations <= most_iterations && !fits(degree, iterations)) ++iterations;
      if (iterations > most_iterations) continue;
      const std::size_t after = iterations == 0 ? (has_numerator ? 1 : 0) : iterations + 1;
      const Choice choice{start(degree).depth() + after, products_of(degree) + 2 * iterations, degree,
                          iterations};
      if (choice.is_better_than(best)) best = choice;
    }
    if (!best) {
      throw ParameterError("no inverse within 2^" + std::to_string(std::log2(tolerance)) +
                           " was found; allow a larger error, or use a smaller interval");
    }
    degree_ = best->degree;
    iterations_ = best->iterations;
    while (degree_ > 1 && fits(degree_ - 1, iterations_)) --degree_;
  }

  [[nodiscard]] double nearest() const { return nearest_; }
  [[nodiscard]] double error() const { return error(degree_, iterations_) / nearest_; }

  // The numerator, if there is one, takes no level in front of iterations: 1 - x y takes one, too.
  Value add_to(Function& function, Value x, std::optional<Value> numerator) const {
    Value y = function.add(x, start(degree_));
    Value a = 0;
    if (iterations_ > 0) a = function.add({.factor = -1, .products = {{x, y}}, .constant = {1}});
    if (numerator) y = function.add({.products = {{*numerator, y}}});
    for (std::size_t i = 0; i < iterations_; ++i) {
      y = function.add({.products = {{y, a}}, .terms = {{y, {1}}}});
      if (i + 1 < iterations_) a = function.add({.products = {{a, a}}});
    }
    return y;
  }

 private:
  // 1 - x y is least where it is a multiple of a Chebyshev polynomial: that which is 1 at x = 0.
  [[nodiscard]] double error(std::size_t degree, std::size_t iterations) const {
    const double residual = 1 / std::abs(chebyshev(degree + 1, map_.shift));
    return std::exp2(std::log2(residual) * std::exp2(static_cast<double>(iterations)));
  }

  [[nodiscard]] Polynomial start(std::size_t degree) const {
    const double norm = chebyshev(degree + 1, map_.shift);
    const auto y = [&](double t) {
      return (1 - chebyshev(degree + 1, t) / norm) * map_.factor / (t - map_.shift);
    };
    const std::vector<double> coefficients = chebyshev_coefficients(y, degree);
    return Polynomial({coefficients.begin(), coefficients.end()}, Basis::chebyshev, interval_);
  }

  Interval interval_;
  double nearest_;  // to 0
  AffineMap map_;
  std::size_t degree_ = 0, iterations_ = 0;
};

void require_gap(double gap, double tolerance, double largest) {
  require_tolerance(tolerance);
  if (!(gap > 0) || !(gap < largest) || !std::isfinite(largest)) {
    throw ParameterError("a gap of " + std::to_string(gap) + " and a largest value of " +
                         std::to_string(largest) +
                         ": the gap must be above 0 and below the largest, and both finite");
  }
}

// (a - b) / 2 largest, in [-1, 1].
Value add_difference(Function& function, double largest) {
  const double factor = 1 / (2 * largest);
  return function.add({.terms = {{0, {factor}}, {1, {-factor}}}});
}

}  // namespace

Function approximating(const RealFunction& f, const Interval& interval, double tolerance) {
  const Approximation found = approximate_within(f, interval, tolerance);
  Function function(found.polynomial);
  function.set_error(found.error);
  function.set_largest({largest_over(f, interval)});
  return function;
}

Function sigmoid(const Interval& interval, double tolerance) {
  return approximating([](double x) { return 1 / (1 + std::exp(-x)); }, interval, tolerance);
}

Function hyperbolic_tangent(const Interval& interval, double tolerance) {
  return approximating([](double x) { return std::tanh(x); }, interval, tolerance);
}

Function gelu(const Interval& interval, double tolerance) {
  return approximating([](double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }, interval,
                       tolerance);
}

Function silu(const Interval& interval, double tolerance) {
  return approximating([](double x) { return x / (1 + std::exp(-x)); }, interval, tolerance);
}

Function softplus(const Interval& interval, double tolerance) {
  // Without exponentials of large numbers.
  return approximating([](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
                       interval, tolerance);
}

Function exponential(const Interval& interval, double tolerance) {
  return approximating([](double x) { return std::exp(x); }, interval, tolerance);
}

Function logarithm(const Interval& interval, double tolerance) {
  if (!(interval.low > 0)) {
    throw ParameterError("a logarithm on an interval from " + std::to_string(interval.low) +
                         ", which must be above 0");
  }
  return approximating([](double x) { return std::log(x); }, interval, tolerance);
}

Function inverse(const Interval& interval, double tolerance) {
  require_tolerance(tolerance);
  Function function(std::vector{interval});
  const Reciprocal reciprocal(interval, tolerance, false);
  function.set_outputs({reciprocal.add_to(function, 0, std::nullopt)});
  function.set_error(reciprocal.error());
  function.set_largest({1 / reciprocal.nearest()});
  return function;
}

Function divide(const Interval& x, const Interval& y, double tolerance) {
  require_tolerance(tolerance);
  Function function({x, y});
  const double largest = std::max(std::abs(x.low), std::abs(x.high));
  const Reciprocal reciprocal(y, tolerance / largest, true);
  function.set_outputs({reciprocal.add_to(function, 1, 0)});
  function.set_error(largest * reciprocal.error());
  function.set_largest({largest / reciprocal.nearest()});
  return function;
}

Function square_root(const Interval& interval, double tolerance) {
  require_tolerance(tolerance);
  Function function(std::vector{interval});
  if (!(interval.low >= 0)) {
    throw ParameterError("a square root on an interval from " + std::to_string(interval.low) +
                         ", which must not have negative numbers");
  }
  const RealFunction root = [](double x) { return std::sqrt(x); };
  std::optional<Choice> best;
  for (const std::size_t degree : start_degrees) {
    const Approximation direct = approximate(root, interval, degree);
    if (direct.error > tolerance) continue;
    best = Choice{direct.polynomial.depth(), products_of(degree), degree, 0};
    break;
  }
  // Relative errors e of the inverse square root become 3/2 e^2 + 1/2 e^3.
  const auto start = [&](std::size_t degree) {
    return approximate([](double x) { return 1 / std::sqrt(2 * x); }, interval, degree,
                       {.weight = [](double x) { return std::sqrt(2 * x); }});
  };
  const auto after = [](double error, std::size_t iterations) {
    for (std::size_t i = 0; i < iterations; ++i) error = error * error * (1.5 + 0.5 * error);
    return error;
  };
  for (const std::size_t degree : start_degrees) {
    if (!(interval.low > 0)) break;
    const Approximation polynomial = start(degree);
    std::size_t iterations = 1;
    const auto error = [&] { return after(polynomial.error, iterations) * std::sqrt(interval.high); };
    while (iterations <= most_iterations && !(error() <= tolerance)) ++iterations;
    if (iterations > most_iterations) continue;
    const Choice choice{polynomial.polynomial.depth() + 2 * iterations + 1,
                        products_of(degree) + 3 * iterations + 1, degree, iterations};
    if (choice.is_better_than(best)) best = choice;
  }
  const auto composition =
      best && best->iterations == 0 ? std::nullopt : nearest_to_root(interval, tolerance);
  if (composition && (!best || composition->depth() + levels_worth_another <= best->depth)) {
    function.set_outputs({composition->add_to(function, 0)});
    function.set_error(composition->error);
    function.set_largest({std::sqrt(interval.high)});
    return function;
  }
  if (!best) {
    throw ParameterError("no square root within 2^" + std::to_string(std::log2(tolerance)) +
                         " was found; allow a larger error, or use an interval further from 0");
  }
  if (best->iterations == 0) return approximating(root, interval, tolerance);

  // z stands for 1 / sqrt(2 x), so that the iteration has no factor of 1/2.
  const Approximation inverse_root = start(best->degree);
  Value z = function.add(0, inverse_root.polynomial);
  for (std::size_t i = 0; i < best->iterations; ++i) {
    const Value scaled = function.add({.products = {{0, z}}}), square = function.add({.products = {{z, z}}});
    z = function.add({.factor = -1, .products = {{scaled, square}}, .terms = {{z, {1.5}}}});
  }
  const Value x = function.add({.terms = {{0, {std::numbers::sqrt2}}}});
  function.set_outputs({function.add({.products = {{x, z}}})});
  function.set_error(after(inverse_root.error, best->iterations) * std::sqrt(interval.high));
  function.set_largest({std::sqrt(interval.high)});
  return function;
}

Function sign(double gap, double tolerance, double largest) {
  require_gap(gap, tolerance, largest);
  const Interval interval{-largest, largest};
  const std::vector<SignStage> stages = stages_for(gap / largest, tolerance);
  Function function(std::vector{interval});
  function.set_outputs({add_sign(function, 0, stages, interval, 1, 0)});
  function.set_error(stages.back().error);
  function.set_largest({1});
  return function;
}

Function compare(double gap, double tolerance, double largest) {
  require_gap(gap, tolerance, 2 * largest);
  const std::vector<SignStage> stages = stages_for(gap / (2 * largest), 2 * tolerance);
  Function function(std::vector(2, Interval{-largest, largest}));
  const Value difference = add_difference(function, largest);
  function.set_outputs({add_sign(function, difference, stages, {}, 0.5, 0.5)});
  function.set_error(stages.back().error / 2);
  function.set_largest({1});
  return function;
}

Function maximum(double tolerance, double largest) {
  require_gap(tolerance, tolerance, largest);
  const double relative = tolerance / largest;
  // The largest |t| |sign - s| is near the gap of s, or below: take the widest gap that will do.
  std::vector<SignStage> stages;
  double error = HUGE_VAL;
  for (double gap = std::min(0.5, 16 * relative); error > tolerance && gap > relative / 4; gap /= 2) {
    stages = stages_for(gap, relative);
    error = 0;
    for (double t = 1; t > relative / 16; t *= 0.995) {
      error = std::max(error, largest * t * std::abs(1 - sign_at(stages, t)));
    }
  }
  Function function(std::vector(2, Interval{-largest, largest}));
  const Value difference = add_difference(function, largest);
  const Value sign = add_sign(function, difference, stages, {}, largest, 0);
  function.set_outputs({function.add({.products = {{difference, sign}}, .terms = {{0, {0.5}}, {1, {0.5}}}})});
  function.set_error(error);
  function.set_largest({largest});
  return function;
}

}  // namespace hemera::circuits
