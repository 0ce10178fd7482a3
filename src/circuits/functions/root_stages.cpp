#include "circuits/functions/root_stages.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

#include "circuits/functions/chebyshev_series.hpp"

namespace hemera::circuits {
namespace {

using Value = Function::Value;
using Rows = std::vector<std::vector<double>>;

// Noise takes values beyond an interval's upper end, and polynomials are steep there, one after the other
// where each takes 1 to 1.
constexpr double wider = 1 + 0x1p-8;
// Near 0 rounding of doubles, too, is multiplied by the square of the slope.
constexpr double least_root_tolerance = 0x1p-22;

// Chebyshev coefficients for u from 0 to 1, mapped to [-1, 1], of a function of t = sqrt(u).
std::vector<double> coefficients_of(std::size_t degree, const auto& f) {
  return chebyshev_coefficients([&](double s) { return f(std::sqrt((s + 1) / 2)); }, degree);
}

Polynomial polynomials_of(const Rows& rows, const Interval& interval) {
  std::size_t powers = 0;
  for (const auto& row : rows) powers = std::max(powers, row.size());
  std::vector<std::complex<double>> coefficients;
  for (const auto& row : rows) {
    coefficients.insert(coefficients.end(), row.begin(), row.end());
    coefficients.resize(coefficients.size() + powers - row.size());
  }
  return Polynomial(std::move(coefficients), Basis::chebyshev, interval, {.count = rows.size()})
      .with_map_bits(absolute_map_bits);
}

}  // namespace

std::optional<RootComposition> nearest_to_root(const Interval& interval, double tolerance) {
  const double high = wider * interval.high;
  if (tolerance < least_root_tolerance * std::sqrt(high)) return std::nullopt;
  auto found = nearest_to_absolute({0, high}, tolerance / std::sqrt(high), std::sqrt(interval.low / high));
  if (!found) return std::nullopt;
  const double error = found->error() * std::sqrt(high);
  return RootComposition{std::move(found->stages), high, error};
}

std::size_t RootComposition::depth() const {
  Function function(std::vector{Interval{0, high}});
  return function.depth_of(add_to(function, 0));
}

Value RootComposition::add_to(Function& function, Value x) const {
  Value root = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const SignStage& stage = stages[i];
    const bool is_first = i == 0, is_last = i + 1 == stages.size();
    // The next stages are defined up to 1.
    const double scale = is_last ? std::sqrt(high) : 1 / (1 + stage.error);
    const auto odd = [&](double t) { return scale * chebyshev_value(stage.coefficients, t); };
    const std::size_t degree = stage.degree();
    // The first stage's polynomial has the product with u in it: u q(u) = t p(t).
    Rows rows{coefficients_of(degree / 2 + (is_first ? 1 : 0),
                              [&](double t) { return is_first ? t * odd(t) : odd(t) / t; })};
    if (!is_last) {  // from -1 to 1
      rows.push_back(coefficients_of(degree, [&](double t) { return 2 * odd(t) * odd(t) - 1; }));
    }
    const Value values = function.add(x, polynomials_of(rows, is_first ? Interval{0, high} : Interval{}));
    root = is_first ? values : function.add({.products = {{root, values}}});
    x = values + 1;
  }
  return root;
}

}  // namespace hemera::circuits
