#include "interop/openfhe/bootstrap_sine.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

namespace hemera::interop::openfhe {
namespace {

// Coefficients of the polynomial that has the function's values at the Chebyshev nodes; doubles would lose
// three digits to the double angles.
std::vector<double> chebyshev_coefficients(const std::function<long double(long double)>& f,
                                           std::size_t degree) {
  const std::size_t nodes = degree + 1;
  constexpr long double pi = std::numbers::pi_v<long double>;
  std::vector<double> coefficients;
  for (std::size_t power = 0; power < nodes; ++power) {
    long double sum = 0;
    for (std::size_t k = 0; k < nodes; ++k) {
      const long double angle = pi * (static_cast<long double>(k) + 0.5L) / static_cast<long double>(nodes);
      sum += f(std::cos(angle)) * std::cos(static_cast<long double>(power) * angle);
    }
    coefficients.push_back(static_cast<double>(sum * (power == 0 ? 1 : 2) / static_cast<long double>(nodes)));
  }
  return coefficients;
}

// A polynomial of input 0 in the Chebyshev basis, by T_m, T_2m and T_4m for an odd m, and T_1 to T_m. (M.
// Paterson, L. Stockmeyer, 1973.) Values are near 0, where the noise of T_2 is doubled twice by each further
// doubling: so there are few.
class OddSteps {
 public:
  OddSteps(circuits::Function& function, const std::vector<double>& coefficients)
      : function_(function), base_(((coefficients.size() - 1) / 7 + 1) | 1) {
    chebyshev_[1] = 0;
    const auto [high, low] = divided(coefficients, 4 * base_);
    const auto [high_high, high_low] = divided(high, 2 * base_);
    const auto [low_high, low_low] = divided(low, 2 * base_);
    circuits::Function::Sum first = part(high_low);
    first.products.insert(first.products.begin(), {function_.add(part(high_high)), chebyshev(2 * base_)});
    circuits::Function::Sum last = part(low_low);
    last.products.insert(last.products.begin(), {{function_.add(std::move(first)), chebyshev(4 * base_)},
                                                 {function_.add(part(low_high)), chebyshev(2 * base_)}});
    value_ = function_.add(std::move(last));
  }

  [[nodiscard]] std::size_t value() const { return value_; }

 private:
  // p = q T_n + r, by T_a T_b = (T_(a+b) + T_|a-b|) / 2.
  static std::pair<std::vector<double>, std::vector<double>> divided(const std::vector<double>& p,
                                                                     std::size_t n) {
    std::vector<double> quotient = {0};
    std::vector<double> rest(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(std::min(n, p.size())));
    rest.resize(n);
    for (std::size_t power = n; power < p.size(); ++power) {
      quotient.resize(power - n + 1);
      quotient[power - n] = power == n ? p[power] : 2 * p[power];
      if (power != n) rest[2 * n - power] -= p[power];
    }
    return {quotient, rest};
  }

  // T_power, of the fewest products one after the other.
  std::size_t chebyshev(std::size_t power) {
    if (const auto known = chebyshev_.find(power); known != chebyshev_.end()) return known->second;
    const std::size_t more = (power + 1) / 2;
    const std::size_t less = power / 2;
    circuits::Function::Sum sum{
        .factor = 2, .products = {{chebyshev(more), chebyshev(less)}}, .terms = {}, .constant = {0}};
    if (more == less) {
      sum.constant = {-1};
    } else {
      sum.terms.push_back({chebyshev(1), {-1}});
    }
    return chebyshev_[power] = function_.add(std::move(sum));
  }

  // A part of a degree below 2m, by T_m.
  circuits::Function::Sum part(const std::vector<double>& coefficients) {
    if (coefficients.size() <= base_ + 1) return leaf(coefficients);
    const auto [quotient, rest] = divided(coefficients, base_);
    const std::size_t factor = function_.add(leaf(quotient));
    circuits::Function::Sum sum = leaf(rest);
    sum.products = {{factor, chebyshev(base_)}};
    return sum;
  }

  circuits::Function::Sum leaf(const std::vector<double>& coefficients) {
    circuits::Function::Sum sum{.factor = 1, .products = {}, .terms = {}, .constant = {coefficients[0]}};
    for (std::size_t power = 1; power < coefficients.size(); ++power) {
      if (coefficients[power] != 0) sum.terms.push_back({chebyshev(power), {coefficients[power]}});
    }
    return sum;
  }

  circuits::Function& function_;
  std::size_t base_;
  std::map<std::size_t, std::size_t> chebyshev_;
  std::size_t value_ = 0;
};

// The polynomial of degree 2n that has the function's values at -n / bound to n / bound, in the barycentric
// form: its weights at equidistant points are binomial coefficients of alternating sign.
std::function<long double(long double)> through_multiples(const std::function<long double(long double)>& f,
                                                          std::size_t degree, int bound) {
  std::vector<long double> points, values, weights;
  long double weight = 1;
  for (std::size_t j = 0; j <= degree; ++j) {
    const long double multiple = static_cast<long double>(j) - static_cast<long double>(degree) / 2;
    points.push_back(multiple / bound);
    values.push_back(f(points.back()));
    weights.push_back(weight);
    weight *= -static_cast<long double>(degree - j) / static_cast<long double>(j + 1);
  }
  return [=](long double v) {
    long double sum = 0, total = 0;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (v == points[j]) return values[j];
      const long double share = weights[j] / (v - points[j]);
      sum += share * values[j];
      total += share;
    }
    return sum / total;
  };
}

}  // namespace

// The multiples of q_0 that a uniform secret makes have a deviation of sqrt(N / 18). OpenFHE takes 8.49 of
// them at N = 2^16, and as large a bound in smaller rings, where results would be less precise by it.
Sine sine_of(SecretType secret, std::size_t degree) {
  const int bound = std::min(512, static_cast<int>(std::ceil(512 * std::sqrt(std::ldexp(degree, -16)))));
  switch (secret) {
    case SecretType::uniform:
      return {.bound = bound, .angles = 6, .degree = 90};
    case SecretType::sparse:
      return {.bound = 28, .angles = 3, .degree = 48};
    case SecretType::sparse_encapsulated:
      return {.bound = 16, .angles = 3, .degree = 34};
    default:
      return {.bound = 512, .angles = 6, .degree = 90};
  }
}

circuits::Function scaled_sine(const Sine& sine, long double factor) {
  const long double parts = std::exp2(static_cast<long double>(sine.angles));
  const std::function<long double(long double)> cosine = [&](long double v) {
    return std::pow(factor, 1 / parts) * std::cos(turn * (sine.bound * v - 0.25L) / parts);
  };
  circuits::Function function(std::vector<circuits::Interval>{{-1, 1}});
  // Inputs lie within 2^-(correction) of multiples of q_0. Where the degree is enough for all of these, and
  // for one more on each side, the polynomial takes the cosine's values there, and any between.
  const bool meets_all = sine.degree >= 2 * static_cast<std::size_t>(sine.bound + 1);
  const auto values = meets_all ? through_multiples(cosine, sine.degree, sine.bound) : cosine;
  std::size_t value = OddSteps(function, chebyshev_coefficients(values, sine.degree)).value();
  for (int i = 1 - sine.angles; i <= 0; ++i) {
    const auto constant = static_cast<double>(-std::pow(factor, std::exp2(static_cast<long double>(i))));
    value = function.add(circuits::Function::Sum{
        .factor = 2, .products = {{value, value}}, .terms = {}, .constant = {constant}});
  }
  function.set_outputs({value});
  return function;
}

}  // namespace hemera::interop::openfhe
