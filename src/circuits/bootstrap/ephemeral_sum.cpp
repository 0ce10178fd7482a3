#include "circuits/bootstrap/ephemeral_sum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// The part of a sum below which the rest of it does not count.
constexpr double negligible = 0x1p-20;

double choose_log2(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t x) { return std::lgamma(static_cast<double>(x + 1)); };
  return (log_factorial(n) - log_factorial(k) - log_factorial(n - k)) / std::numbers::ln2;
}

// Densities of sums of n uniforms on [-1/2, 1/2] at -n/2, (1 - n)/2, ..., n/2, of some n up to the most:
// cardinal B-splines by their recursion (C. de Boor), whose terms are all positive. Where one is below
// 2^-1022 it is 0.
class Densities {
 public:
  Densities(std::size_t least, std::size_t most) : least_(std::max<std::size_t>(least, 1)) {
    std::vector<double> row = {0.5, 1, 0.5};
    for (std::size_t n = 1;; ++n) {
      if (n >= least_) rows_.push_back(row);
      if (n >= most) break;
      std::vector<double> next(2 * n + 3, 0);
      const auto count = static_cast<double>(n + 1);
      for (std::size_t k = 0; k < next.size(); ++k) {
        const double x = (static_cast<double>(k) - count) / 2;
        const double right = k < row.size() ? row[k] : 0, left = k >= 2 ? row[k - 2] : 0;
        next[k] = ((count / 2 + x) * right + (count / 2 - x) * left) / static_cast<double>(n);
      }
      row = std::move(next);
    }
  }

  // The density at i of weight + 1 - 2 pairs uniforms of width 1, and of `pairs` of width 2: each of these is
  // one of width 1 and a fair choice of -1/2 or 1/2.
  [[nodiscard]] double at(std::size_t i, std::size_t weight, std::size_t pairs) const {
    const std::size_t n = weight + 1 - pairs;
    const std::vector<double>& row = rows_[n - least_];
    double sum = 0, share = std::exp2(-static_cast<double>(pairs));
    for (std::size_t k = 0; k <= pairs; ++k) {
      const auto place = static_cast<std::ptrdiff_t>(2 * i + n + pairs) - static_cast<std::ptrdiff_t>(2 * k);
      if (place >= 0 && place < static_cast<std::ptrdiff_t>(row.size())) {
        sum += share * row[static_cast<std::size_t>(place)];
      }
      share *= static_cast<double>(pairs - k) / static_cast<double>(k + 1);
    }
    return sum;
  }

  // The probability that a coefficient is `range` or more, or as far below 0.
  [[nodiscard]] double tail(std::size_t range, std::size_t weight, std::size_t pairs) const {
    double sum = 0;
    for (std::size_t i = range; i <= (weight + 1) / 2; ++i) {
      const double term = at(i, weight, pairs);
      sum += term;
      if (term < negligible * sum) break;
    }
    return 2 * sum;
  }

 private:
  std::size_t least_;
  std::vector<std::vector<double>> rows_;
};

// The probabilities of 0, 1, 2, ... places where a term meets one before it: each has a hypergeometric number
// of them, as if those before were all apart.
std::vector<double> meetings(std::size_t each, std::size_t terms, std::size_t degree) {
  std::vector<double> all = {1};
  for (std::size_t term = 1; term < terms; ++term) {
    const std::size_t taken = term * each;
    std::vector<double> next(all.size() + each, 0);
    for (std::size_t met = 0; met <= each; ++met) {
      const double own = std::exp2(choose_log2(taken, met) + choose_log2(degree - taken, each - met) -
                                   choose_log2(degree, each));
      for (std::size_t before = 0; before < all.size(); ++before) next[before + met] += all[before] * own;
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

double overflow_log2(std::size_t i, std::size_t weight, std::size_t pairs) {
  return std::log2(Densities(weight + 1 - pairs, weight + 1 - pairs).at(i, weight, pairs));
}

double failure_log2(std::size_t range, std::size_t weight, std::size_t coefficients, std::size_t terms,
                    std::size_t degree) {
  if (terms > 1 && weight > degree) return 0;
  const std::vector<double> probabilities = meetings(weight / terms, terms, degree);
  const std::size_t most = std::min(probabilities.size() - 1, weight / 2);
  const Densities densities(weight + 1 - 2 * most, weight + 1);
  double sum = 0;
  for (std::size_t met = 0; met <= most; ++met) {
    const auto first = probabilities.begin() + static_cast<std::ptrdiff_t>(met);
    // No tail is above 1.
    if (std::accumulate(first, probabilities.end(), 0.0) < negligible * sum) break;
    for (std::size_t pairs = 0; pairs <= met; ++pairs) {
      const double share = *first * std::exp2(choose_log2(met, pairs) - static_cast<double>(met));
      sum += share * densities.tail(range, weight - 2 * (met - pairs), pairs);
    }
  }
  return std::log2(sum) + std::log2(static_cast<double>(coefficients));
}

std::size_t sine_range_of(std::size_t terms) {
  constexpr std::size_t range_of_one = 16, degree = std::size_t{1} << 16;
  constexpr double most_failures_log2 = -128;
  // Ranges of fewer deviations of the sum are too small.
  constexpr double least_deviations = 11.5;
  if (terms == 1) return range_of_one;
  const auto least = [&](std::size_t count) {
    const std::size_t weight = count * rlwe::usual_ephemeral_weight;
    auto range = static_cast<std::size_t>(least_deviations * std::sqrt(static_cast<double>(weight + 1) / 12));
    while (range <= largest_sine_range &&
           failure_log2(range, weight, degree, count, degree) > most_failures_log2) {
      ++range;
    }
    return range;
  };
  const std::size_t range = least(terms);
  if (range <= largest_sine_range) return range;
  std::size_t most = 1;
  for (std::size_t above = terms; above - most > 1;) {
    const std::size_t middle = (most + above) / 2;
    (least(middle) <= largest_sine_range ? most : above) = middle;
  }
  throw ParameterError(
      "a bootstrap through a sum of " + std::to_string(terms) +
      " ephemeral secrets: its integers are beyond the range of all sines; the largest sum has " +
      std::to_string(most) + ", a committee with as many pieces");
}

}  // namespace hemera::circuits
