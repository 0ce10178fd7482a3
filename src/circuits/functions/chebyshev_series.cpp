#include "circuits/functions/chebyshev_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace hemera::circuits {
namespace {

// Points that are computed at a time: they do not wait for each other.
constexpr std::size_t together = 8;

template <std::size_t count>
std::array<double, count> clenshaw(const std::vector<double>& coefficients, const double* t) {
  std::array<double, count> one{}, two{}, twice{};
  for (std::size_t i = 0; i < count; ++i) twice[i] = 2 * t[i];
  for (std::size_t k = coefficients.size(); k-- > 1;) {
    const double own = coefficients[k];
    for (std::size_t i = 0; i < count; ++i) two[i] = std::exchange(one[i], own + twice[i] * one[i] - two[i]);
  }
  for (std::size_t i = 0; i < count; ++i) one[i] = coefficients[0] + t[i] * one[i] - two[i];
  return one;
}

}  // namespace

std::vector<double> chebyshev_nodes(std::size_t count) {
  std::vector<double> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
  }
  return nodes;
}

std::vector<double> chebyshev_coefficients(const std::vector<double>& values) {
  const std::size_t n = values.size();
  std::vector<double> cosines(4 * n), coefficients(n);
  for (std::size_t i = 0; i < 4 * n; ++i) {
    cosines[i] = std::cos(std::numbers::pi * static_cast<double>(i) / static_cast<double>(2 * n));
  }
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t i = 0, turn = k; i < n; ++i, turn = (turn + 2 * k) % (4 * n)) {
      sum += values[i] * cosines[turn];
    }
    coefficients[k] = sum * (k == 0 ? 1 : 2) / static_cast<double>(n);
  }
  return coefficients;
}

std::vector<double> chebyshev_coefficients(const std::function<double(double)>& f, std::size_t degree) {
  std::vector<double> values = chebyshev_nodes(degree + 1);
  for (double& value : values) value = f(value);
  return chebyshev_coefficients(values);
}

double chebyshev_value(const std::vector<double>& coefficients, double t) {
  return clenshaw<1>(coefficients, &t)[0];
}

std::vector<double> chebyshev_values(const std::vector<double>& coefficients, std::vector<double> t) {
  const std::size_t size = t.size();
  t.resize((size + together - 1) / together * together);
  for (std::size_t at = 0; at < t.size(); at += together) {
    const auto found = clenshaw<together>(coefficients, &t[at]);
    std::copy(found.begin(), found.end(), &t[at]);
  }
  t.resize(size);
  return t;
}

}  // namespace hemera::circuits
