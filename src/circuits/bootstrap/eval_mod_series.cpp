#include "circuits/bootstrap/eval_mod_series.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "circuits/bootstrap/ephemeral_sum.hpp"

namespace hemera::circuits {
namespace {

using Real =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>, boost::multiprecision::et_off>;

constexpr int points_each = 3;  // near each integer

// Solves the symmetric system in place, by elimination with pivots; the solution replaces `right`.
void solve(std::vector<std::vector<Real>>& matrix, std::vector<Real>& right) {
  const std::size_t n = right.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row) {
      if (abs(matrix[row][column]) > abs(matrix[pivot][column])) pivot = row;
    }
    std::swap(matrix[column], matrix[pivot]);
    std::swap(right[column], right[pivot]);
    for (std::size_t row = column + 1; row < n; ++row) {
      const Real factor = matrix[row][column] / matrix[column][column];
      for (std::size_t k = column; k < n; ++k) matrix[row][k] -= factor * matrix[column][k];
      right[row] -= factor * right[column];
    }
  }
  for (std::size_t row = n; row-- > 0;) {
    for (std::size_t k = row + 1; k < n; ++k) right[row] -= matrix[row][k] * right[k];
    right[row] /= matrix[row][row];
  }
}

// A point near an integer: its row of the least squares, and what is needed to see the error there.
struct Point {
  std::size_t integer;  // |I|
  Real t, weight;
  std::vector<Real> basis;  // T_0(y), T_1(y), ...
  Real target;
};

std::vector<Point> points_of(const EvalModRequest& request) {
  const Real pi = acos(Real(-1));
  const Real radius = pow(Real(2), Real(request.radius_log2));
  const auto range = static_cast<long>(request.range);
  const Real turns = pow(Real(2), static_cast<int>(request.doublings));
  std::vector<Point> points;
  for (long integer = 1 - range; integer < range; ++integer) {
    const auto size = static_cast<std::size_t>(std::abs(integer));
    const double rare = std::min(
        0.0, overflow_log2(size, request.weight) + 1 + std::log2(static_cast<double>(request.coefficients)));
    for (int i = 0; i < points_each; ++i) {
      Point point{.integer = size, .t = integer + radius * cos(pi * (2 * i + 1) / (2 * points_each))};
      const Real shifted = point.t - Real(1) / 4;
      const Real v = shifted / range;
      const Real y = 2 * v * v - 1;
      const Real phase = 2 * pi * shifted / turns;
      point.basis = {Real(1), y};
      while (point.basis.size() <= request.degree) {
        const std::size_t k = point.basis.size();
        point.basis.push_back(2 * y * point.basis[k - 1] - point.basis[k - 2]);
      }
      point.weight = std::isinf(rare) ? Real(0)  // never met
                                      : turns / abs(sin(phase)) * pow(Real(2), Real(request.trust * rare));
      point.target = cos(phase);
      points.push_back(std::move(point));
    }
  }
  return points;
}

}  // namespace

EvalModSeries fit_eval_mod(const EvalModRequest& request) {
  const std::vector<Point> points = points_of(request);
  const std::size_t n = request.degree + 1;
  std::vector<std::vector<Real>> normal(n, std::vector<Real>(n, Real(0)));
  std::vector<Real> solution(n, Real(0));
  for (const Point& point : points) {
    const Real square = point.weight * point.weight;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) normal[i][j] += square * point.basis[i] * point.basis[j];
      solution[i] += square * point.basis[i] * point.target;
    }
  }
  solve(normal, solution);

  EvalModSeries series;
  for (const Real& coefficient : solution) {
    const auto value = static_cast<double>(coefficient);
    series.coefficients.push_back({value, static_cast<double>(Real(coefficient - value))});
  }
  const Real pi = acos(Real(-1));
  std::vector<Real> worst(request.range, Real(0));
  for (const Point& point : points) {
    Real x = 0;
    for (std::size_t i = 0; i < n; ++i) x += solution[i] * point.basis[i];
    for (std::size_t i = 0; i < request.doublings; ++i) x = 2 * x * x - 1;
    worst[point.integer] = std::max(worst[point.integer], Real(abs(x - sin(2 * pi * point.t)) / (2 * pi)));
  }
  for (const Real& error : worst) series.error_log2.push_back(static_cast<double>(log2(error)));
  return series;
}

EvalModSeries exponential_series(std::size_t range, std::size_t degree, std::size_t doublings) {
  constexpr double turn = 2 * std::numbers::pi;
  constexpr std::size_t points = 4096, beyond = 64;
  const double angle = turn * std::exp2(-static_cast<double>(doublings)) * static_cast<double>(range);
  // J_k(angle) is the mean of cos(k x - angle sin x) over a turn.
  const auto bessel = [&](std::size_t k) {
    double sum = 0;
    for (std::size_t i = 0; i < points; ++i) {
      const double x = turn * static_cast<double>(i) / static_cast<double>(points);
      sum += std::cos(static_cast<double>(k) * x - angle * std::sin(x));
    }
    return sum / static_cast<double>(points);
  };
  EvalModSeries series;
  const std::size_t count = 2 * degree + 2;
  for (std::size_t k = 0; k < count; ++k) series.coefficients.push_back({(k == 0 ? 1 : 2) * bessel(k)});
  double rest = 0x1p-52;  // of doubles
  for (std::size_t k = count; k < count + beyond; ++k) rest += 2 * std::abs(bessel(k));
  series.error_log2.assign(range, std::log2(rest / turn) + static_cast<double>(doublings));
  return series;
}

std::size_t most_coefficients(const EvalModRequest& request) {
  const std::size_t largest = std::min(request.range - 1, request.weight / 2);  // that occurs
  return points_each * (2 * largest + 1);
}

double mean_error_log2(const EvalModSeries& series, std::size_t weight) {
  double sum = 0;
  for (std::size_t i = 0; i < series.error_log2.size(); ++i) {
    const double probability = std::exp2(overflow_log2(i, weight));
    if (probability > 0) sum += (i == 0 ? 1 : 2) * probability * std::exp2(2 * series.error_log2[i]);
  }
  return 0.5 * std::log2(sum);
}

ChebyshevQuotient divide_chebyshev(std::span<const arith::TwoDoubles> series, std::size_t k, bool turned) {
  ChebyshevQuotient result{.quotient = {series.begin() + static_cast<std::ptrdiff_t>(k), series.end()},
                           .remainder = {series.begin(), series.begin() + static_cast<std::ptrdiff_t>(k)}};
  for (std::size_t j = 1; j < result.quotient.size(); ++j) {
    arith::TwoDoubles &of_rest = result.remainder[k - j], &of_quotient = result.quotient[j];
    of_rest = of_rest + of_quotient * arith::TwoDoubles{chebyshev_sign(j, turned)};
    of_quotient = of_quotient + of_quotient;
  }
  return result;
}

}  // namespace hemera::circuits
