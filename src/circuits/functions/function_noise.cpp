// The noise that encrypted runs of a function are expected to have.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "circuits/coefficient.hpp"
#include "circuits/functions/function_parts.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/circuits/functions/function_plan.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Places = std::vector<double>;  // of each input, from -1 to 1

// Values of each input, evenly spread, at which the expected error is taken; the ends and the middle, where a
// step is steep, come on top.
constexpr std::size_t sample_count = 1024;

// Between two samples a polynomial that changes by this part of its range is steep.
constexpr double steep = 0.5;
constexpr int bisections = 48;
// Distances from places that are looked at: 1, 1/16, ..., and how many there are.
constexpr double nearer = 1.0 / 16;
constexpr int distances = 7;
constexpr int draws_of_noise = 3;
// In deviations. There are up to 2^15 copies of slots, and iterations of one that does not converge grow.
constexpr double tails = 2, tails_of_iterations = 4;
// Draws of more than this many times the error by derivatives are out of an interval.
constexpr double out_of_interval = 16;

// Sample `number` of input `input`, in [-1, 1]; each input goes through them in another order. The middle is
// followed by the ends.
double sample_at(std::size_t number, std::size_t input) {
  if (number == sample_count) return 0;
  if (number > sample_count) return (number - sample_count - 1) >> input & 1 ? 1 : -1;
  const std::size_t place = (number * (2 * input + 1) + 7 * input) % sample_count;
  return (2 * static_cast<double>(place) + 1) / static_cast<double>(sample_count) - 1;
}

Places sample_of(std::size_t number, std::size_t inputs) {
  Places places;
  for (std::size_t i = 0; i < inputs; ++i) places.push_back(sample_at(number, i));
  return places;
}

std::size_t ends_of(std::size_t inputs) { return std::size_t{1} << std::min<std::size_t>(inputs, 4); }

Places between(const Places& low, const Places& high, double part) {
  Places places;
  for (std::size_t i = 0; i < low.size(); ++i) places.push_back(low[i] + part * (high[i] - low[i]));
  return places;
}

}  // namespace

std::vector<Complex> FunctionPlan::values_at(const Places& places, std::size_t slot) const {
  std::vector<Complex> values;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [low, high] = function_.inputs()[i];
    values.emplace_back((low + high) / 2 + places[i] * (high - low) / 2);
  }
  for (const FunctionStep& step : steps_) values.push_back(value_of(step, values, slot));
  return values;
}

ExpectedError FunctionPlan::error_from(double fresh) const {
  const std::size_t inputs = function_.inputs().size();
  double sum = 0, worst = 0;
  for (std::size_t sample = 0; sample < sample_count + 1 + ends_of(inputs); ++sample) {
    const std::size_t slot = sample % function_.width();
    const std::vector<Complex> values = values_at(sample_of(sample, inputs), slot);
    for (const std::size_t output : outputs_) {
      // The derivative of the output by each value, from the last step to the first.
      std::vector<Complex> slopes(values.size());
      slopes[output] = 1;
      double variance = 0;
      for (std::size_t i = steps_.size(); i-- > 0;) {
        const FunctionStep& step = steps_[i];
        const Complex slope = slopes[inputs + i];
        if (slope == 0.0) continue;
        if (step.rescaled) variance += std::norm(slope) * std::pow(rounding_ / step.result_scale, 2);
        for (const auto& [a, b] : step.products) {
          slopes[a] += static_cast<double>(step.factor) * slope * values[b];
          slopes[b] += static_cast<double>(step.factor) * slope * values[a];
        }
        for (const auto& term : step.terms) slopes[term.value] += slope * in_slot(term.factor, slot);
        Complex moved = 0;
        for (std::size_t j = 0; j < step.factor_errors.size(); ++j) {
          moved += step.factor_errors[j] * (values[step.terms[j].value] - step.fixed);
        }
        variance += std::norm(slope * moved);
      }
      for (std::size_t i = 0; i < inputs; ++i) variance += std::norm(slopes[i]) * fresh * fresh;
      if (sample < sample_count) sum += variance;
      worst = std::max(worst, variance);
    }
  }
  const auto count = static_cast<double>(sample_count * outputs_.size());
  const ExpectedError error{.mean = std::sqrt(sum / count), .worst = std::sqrt(worst)};
  if (function_.parts().size() < 2) return error;
  const double in_copies = division_error(parameters(), parameters().max_slots()) / rounding_;
  const double drawn = drawn_error(fresh);
  if (drawn <= out_of_interval * tails * in_copies * error.worst) return error;
  return {.mean = drawn, .worst = drawn};
}

std::vector<Places> FunctionPlan::noisy_places() const {
  const std::size_t inputs = function_.inputs().size();
  std::vector<std::vector<double>> rows;  // by sample: the values of the polynomials
  for (std::size_t sample = 0; sample < sample_count; ++sample) {
    const std::vector<Complex> values = values_at(sample_of(sample, inputs), 0);
    rows.emplace_back();
    for (const std::size_t value : polynomials_) rows.back().push_back(values[value].real());
  }
  std::vector<double> least = rows.front(), most = rows.front();
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      least[i] = std::min(least[i], row[i]);
      most[i] = std::max(most[i], row[i]);
    }
  }
  std::vector<std::pair<Places, Places>> ways;  // from a place, in which direction
  for (std::size_t end = 0; end < ends_of(inputs); ++end) {
    ways.emplace_back(sample_of(sample_count + 1 + end, inputs), Places(inputs, 0));
  }
  for (std::size_t sample = 1; sample < sample_count; ++sample) {
    for (std::size_t i = polynomials_.size(); i-- > 0;) {
      if (std::abs(rows[sample][i] - rows[sample - 1][i]) <= steep * (most[i] - least[i])) continue;
      const Places low = sample_of(sample - 1, inputs), high = sample_of(sample, inputs);
      double from = 0, to = 1, at_from = rows[sample - 1][i], at_to = rows[sample][i];
      for (int round = 0; round < bisections; ++round) {
        const double middle = (from + to) / 2;
        const double value = values_at(between(low, high, middle), 0)[polynomials_[i]].real();
        const bool is_below = std::abs(value - at_from) > std::abs(at_to - value);
        (is_below ? to : from) = middle;
        (is_below ? at_to : at_from) = value;
      }
      for (const Places& side : {low, high}) ways.emplace_back(between(low, high, from), side);
      break;
    }
  }
  std::vector<Places> found;
  for (std::size_t i = 0; i < sample_count && polynomials_.size() < 2; ++i)
    found.push_back(sample_of(i, inputs));
  for (const auto& [place, towards] : ways) {
    found.push_back(place);
    double distance = 1;
    for (int i = 0; i < distances; ++i, distance *= nearer) {
      found.push_back(between(place, towards, distance));
    }
  }
  return found;
}

double FunctionPlan::drawn_error(double fresh) const {
  const double deviations = polynomials_.size() < 2 ? tails_of_iterations : tails;
  const double rounding = deviations * division_error(parameters(), parameters().max_slots());
  std::mt19937_64 random;
  const auto drawn = [&](double deviation) {
    const auto part = [&] {
      return deviation * std::sqrt(1.5) * (std::ldexp(static_cast<double>(random() >> 11), -52) - 1);
    };
    return Complex{part(), part()};
  };
  double largest = 0;
  double most = *std::max_element(largest_.begin(), largest_.end());
  for (const auto& [low, high] : function_.inputs()) most = std::max({most, -low, high});
  for (const Places& places : noisy_places()) {
    const std::vector<Complex> quiet = values_at(places, 0);
    for (int draw = 0; draw < draws_of_noise; ++draw) {
      std::vector<Complex> values(quiet.begin(), quiet.end() - std::ssize(steps_));
      for (Complex& value : values) value += drawn(std::max(deviations * fresh, rounding / scale()));
      for (const FunctionStep& step : steps_) {
        values.push_back(value_of(step, values, 0) + drawn(step.rescaled ? rounding / step.result_scale : 0));
      }
      for (const std::size_t output : outputs_) {
        const double error = std::abs(values[output].real() - quiet[output].real());
        largest = error < most ? std::max(largest, error) : most;
      }
    }
  }
  return largest;
}

}  // namespace hemera::circuits
