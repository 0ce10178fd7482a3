#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/functions/absolute_stages.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Value = Function::Value;

// Odd degrees and the relinearizations that their polynomials take: of each number of them the highest.
using StageDegree = std::pair<std::size_t, std::size_t>;
constexpr StageDegree absolute_degrees[] = {{3, 2},  {5, 3},  {7, 4},   {11, 5},  {13, 6},  {15, 7}, {19, 7},
                                            {27, 8}, {29, 9}, {31, 10}, {39, 10}, {55, 11}, {59, 12}};
// What a level is worth: with it each operation of a program has a limb more.
constexpr std::size_t products_of_level = 4;
constexpr std::size_t most_absolute_depth = 40;

// Nearer ones would take depths that no parameters have.
constexpr double least_absolute_tolerance = 0x1p-30;

// Gaps of the sign that are tried, as multiples of the error |t - t s(t)| for t in [0, 1]. Below the gap s is
// concave, so that this error is a fourth of the gap or less.
constexpr std::array<double, 6> gap_multiples{8, 7, 6, 5.25, 4.6, 4.1};
constexpr double widest_absolute_gap = 0.9;
constexpr int balancing_steps = 24;

constexpr std::size_t points_below_gap = 4096;
// Exchanges end before errors are level: a part of 1e-4 of an error is left.
constexpr double part_of_error = 0.99;

// From the gap on the error is the last stage's. Below it each stage grows from 0 to its value at the end of
// its own gap, as all its extrema are beyond: so between two points t is at most the second and s(t) at least
// that of the first.
SignComposition composed(const std::vector<std::size_t>& degrees, double gap) {
  SignComposition result;
  std::vector<double> values;
  for (std::size_t i = 0; i <= points_below_gap; ++i) {
    values.push_back(gap * static_cast<double>(i) / static_cast<double>(points_below_gap));
  }
  double from = gap;
  for (const std::size_t degree : degrees) {
    SignStage stage = measured_stage(from, degree);
    if (!(stage.error < 1)) return result;
    const bool is_last = result.stages.size() + 1 == degrees.size();
    values = values_at(stage, std::move(values));
    for (double& value : values) value /= is_last ? 1 : 1 + stage.error;
    from = stage.next();
    result.stages.push_back(std::move(stage));
  }
  if (!std::is_sorted(values.begin(), values.end())) return result;
  double found = 0;
  for (std::size_t i = 0; i < points_below_gap; ++i) {
    const double next = gap * static_cast<double>(i + 1) / static_cast<double>(points_below_gap);
    found = std::max(found, next * (1 - values[i]));
  }
  result.below_gap = found * (1 + 0x1p-40);
  result.above_gap = result.stages.back().error;
  return result;
}

// The composition of least error: a wider gap has a smaller error above it and a larger one below.
SignComposition balanced(const std::vector<std::size_t>& degrees, double tolerance) {
  SignComposition best;
  double low = std::log2(std::min(tolerance, widest_absolute_gap)), high = std::log2(widest_absolute_gap);
  for (int i = 0; i < balancing_steps; ++i) {
    const double middle = (low + high) / 2;
    SignComposition found = composed(degrees, std::exp2(middle));
    (found.above_gap > found.below_gap ? low : high) = middle;
    if (best.stages.empty() || found.error() < best.error()) best = std::move(found);
  }
  return best;
}

struct Row {  // of stages one after the other
  std::vector<std::size_t> degrees;
  double from = 0;  // where they leave values, the largest one as 1
};

using Costs = std::pair<std::size_t, std::size_t>;  // depth, products

// The most that a stage leaves of values from a gap on, by what it leaves for other gaps: a wider gap leaves
// no less, but for what an exchange leaves out, and twice the gap at most twice as much.
double most_left(const std::map<double, double>& known, double gap) {
  const auto wider = known.lower_bound(gap);
  double most = wider == known.end() ? 1 : wider->second;
  if (wider != known.begin()) {
    const auto& [narrower, left] = *std::prev(wider);
    most = std::min(most, left * gap / narrower);
  }
  return 1 - (1 - most) * part_of_error;
}

// The degrees of the row of the least depth, then the fewest products, that leaves values from the gap on
// within the tolerance of 1; or of a level more, if that saves products. `depth_of_first`: of a first stage.
std::optional<std::vector<std::size_t>> degrees_for(double gap, double tolerance,
                                                    const auto& depth_of_first) {
  std::map<Costs, Row> rows{{{0, 0}, {.degrees = {}, .from = gap}}};
  std::multimap<Costs, std::pair<const Row*, std::size_t>> longer;  // rows to extend, and by which degree
  std::map<std::size_t, std::map<double, double>> known;  // where stages leave values, by degree and gap
  const auto has_better = [&](const Costs& costs, double from) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& each) {
      const auto& [own, row] = each;
      return own.first <= costs.first && own.second <= costs.second && row.from >= from;
    });
  };
  for (const auto& [degree, products] : absolute_degrees) {
    longer.insert({{depth_of_first(degree), products}, {&rows.begin()->second, degree}});
  }
  std::optional<Costs> best;
  std::size_t most_depth = most_absolute_depth;
  while (!longer.empty() && longer.begin()->first.first <= most_depth) {
    const Costs costs = longer.begin()->first;
    for (; !longer.empty() && longer.begin()->first == costs; longer.erase(longer.begin())) {
      const auto& [row, degree] = longer.begin()->second;
      if (best && costs.second + products_of_level >= best->second) continue;  // costs more than the best
      if (has_better(costs, most_left(known[degree], row->from))) continue;
      const SignStage stage = measured_stage(row->from, degree);
      if (!(stage.error < 1)) continue;
      known[degree][row->from] = stage.next();
      if (has_better(costs, stage.next())) continue;
      rows[costs] = {.degrees = row->degrees, .from = stage.next()};
      rows[costs].degrees.push_back(degree);
    }
    if (!rows.contains(costs)) continue;
    const Row& found = rows[costs];
    if ((1 - found.from) / (1 + found.from) <= tolerance) {
      best = costs;  // of a level more only where that saves products
      most_depth = std::min(most_depth, best->first + 1);
      continue;
    }
    for (const auto& [degree, products] : absolute_degrees) {
      longer.insert({{costs.first + std::bit_width(degree), costs.second + products}, {&found, degree}});
    }
  }
  return best ? std::optional(rows[*best].degrees) : std::nullopt;
}

Polynomial of_degree(std::size_t degree, const Interval& interval) {
  std::vector<std::complex<double>> coefficients(degree + 1);
  coefficients.back() = 1;
  return Polynomial(std::move(coefficients), Basis::chebyshev, interval).with_map_bits(absolute_map_bits);
}

// below x where x < 0, above x where x > 0.
Function bent(const Interval& interval, double below, double above, double tolerance) {
  if (!(tolerance > 0) || !std::isfinite(tolerance)) {
    throw ParameterError("a function needs an error above 0 that it may have, not " +
                         std::to_string(tolerance));
  }
  Function function(std::vector{interval});
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  const double of_x = (above + below) / 2, of_absolute = (above - below) / 2;
  if (interval.low >= 0 || interval.high <= 0 || of_absolute == 0) {
    const double slope = interval.low >= 0 ? above : below;
    function.set_outputs({slope == 1 ? 0 : function.add({.terms = {{0, {slope}}}})});
  } else {
    const Interval both{-largest, largest};
    const double unit = std::abs(of_absolute) * largest;
    const auto composition = nearest_to_absolute(both, tolerance / unit);
    if (!composition) {
      throw ParameterError("no absolute value within 2^" + std::to_string(std::log2(tolerance / unit)) +
                           " of the largest one was found; allow a larger error, or use a smaller interval");
    }
    const Value sign = add_sign(function, 0, composition->stages, both, of_absolute, of_x, absolute_map_bits);
    function.set_outputs({function.add({.products = {{0, sign}}})});
    function.set_error(composition->error() * unit);
  }
  const double left = std::min(interval.low, 0.0), right = std::max(interval.high, 0.0);
  function.set_largest({std::max(std::abs(below * left), std::abs(above * right))});
  return function;
}

}  // namespace

std::optional<SignComposition> nearest_to_absolute(const Interval& interval, double tolerance, double from) {
  const auto depth_of_first = [&](std::size_t degree) { return of_degree(degree, interval).depth(); };
  for (const double multiple : gap_multiples) {  // a narrower gap never costs less
    if (tolerance < least_absolute_tolerance) break;
    const double gap = std::min(multiple * tolerance, widest_absolute_gap);
    const auto degrees = degrees_for(std::max(gap, from), tolerance, depth_of_first);
    if (!degrees) break;
    const bool starts_beyond = from >= gap;
    SignComposition composition = starts_beyond ? composed(*degrees, from) : balanced(*degrees, tolerance);
    if (starts_beyond) composition.below_gap = 0;  // no values are below it
    if (composition.error() <= tolerance) return composition;
  }
  return std::nullopt;
}

Function absolute(const Interval& interval, double tolerance) { return bent(interval, -1, 1, tolerance); }

Function relu(const Interval& interval, double tolerance) { return bent(interval, 0, 1, tolerance); }

Function leaky_relu(const Interval& interval, double slope, double tolerance) {
  if (!std::isfinite(slope)) {
    throw ParameterError("a leaky rectifier of slope " + std::to_string(slope) + ", which must be finite");
  }
  return bent(interval, slope, 1, tolerance);
}

}  // namespace hemera::circuits
