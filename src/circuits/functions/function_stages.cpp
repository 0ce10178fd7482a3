#include "hemera/circuits/functions/function_stages.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "circuits/functions/function_parts.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;

// Where a value is made: in which stage, and how many levels below the stage's beginning.
struct Place {
  std::size_t stage = 0;
  std::size_t depth = 0;
};

std::size_t depth_of(const FunctionPart& part) {
  if (const auto* sum = std::get_if<Function::Sum>(&part)) return sum->fraction_bits ? 0 : 1;
  return std::get<Function::OfPolynomial>(part).polynomial.depth();
}

// Sums have a depth of 1 at most, which always fits.
[[noreturn]] void refuse_depth(const Polynomial& polynomial, std::size_t levels) {
  const std::size_t mapping = polynomial.maps_by_product() ? 1 : 0;
  const std::string fits =
      levels > mapping ? "degrees up to " + std::to_string((std::size_t{1} << (levels - mapping)) - 1) +
                             " fit, and functions composed of several polynomials are cut between them"
                       : "none fits";
  throw LevelError("a function has a polynomial of degree " + std::to_string(polynomial.degree()) +
                   " and depth " + std::to_string(polynomial.depth()) + ", and a bootstrap leaves " +
                   std::to_string(levels) + " levels; of its kind " + fits +
                   "; use such, or parameters with more levels");
}

// Places of all values, parts that nothing needs included.
std::vector<Place> places_of(const Function& function, std::size_t first_levels, std::size_t levels) {
  std::vector<Place> places(function.inputs().size());
  const std::vector<bool> is_needed = needed_parts(function);
  for (std::size_t i = 0; i < function.parts().size(); ++i) {
    const FunctionPart& part = function.parts()[i];
    Place place;
    for (const Value operand : operands_of(part)) {
      const Place& other = places[operand];
      if (other.stage > place.stage) place = other;
      if (other.stage == place.stage) place.depth = std::max(place.depth, other.depth);
    }
    const std::size_t depth = depth_of(part);
    if (is_needed[i] && depth > levels) {
      refuse_depth(std::get<Function::OfPolynomial>(part).polynomial, levels);
    }
    place.depth += depth;
    if (place.depth > (place.stage == 0 ? first_levels : levels)) place = {place.stage + 1, depth};
    places.insert(places.end(), value_count(part), place);
  }
  return places;
}

// Points at which ranges are looked at: of a lattice that fills the cube of all inputs, and of its corners.
constexpr std::size_t lattice_points = 1024;
constexpr std::size_t lattice_generator = 165;
// Points of the lattice for each slot, where slots have coefficients of their own, and inputs whose ends are
// combined.
constexpr std::size_t least_points = 32, most_combined = 8;

// A coordinate of a lattice, from 0 to 1.
double lattice_at(std::size_t point, std::size_t input) {
  std::size_t place = point;
  for (std::size_t i = 0; i < input; ++i) place = place * lattice_generator % lattice_points;
  return (static_cast<double>(place % lattice_points) + 0.5) / lattice_points;
}

double corner_at(std::size_t corner, std::size_t input) {
  return (corner >> (input % most_combined) & 1) != 0 ? 1 : 0;
}

// How much wider than at points a polynomial's range is taken, as a part of its width.
constexpr double beyond_points = 0x1p-10;

// Where each value lies, for inputs all over their intervals.
std::vector<Interval> ranges_of(const Function& function, std::size_t values) {
  Function whole = function;
  std::vector<Value> all(values);
  for (Value value = 0; value < values; ++value) all[value] = value;
  whole.set_outputs(all);
  std::vector<Interval> ranges(values, {HUGE_VAL, -HUGE_VAL});
  std::vector<std::vector<Complex>> rows(function.inputs().size());
  const std::size_t width = function.width();
  const std::size_t corners = std::size_t{1} << std::min(rows.size(), most_combined);
  const std::size_t passes = corners + std::max(lattice_points / width, least_points);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [low, high] = function.inputs()[i];
      rows[i].clear();
      for (std::size_t slot = 0; slot < width; ++slot) {
        const std::size_t point = ((pass - corners) * width + slot) % lattice_points;
        const double t = pass < corners ? corner_at(pass, i) : lattice_at(point, i);
        rows[i].emplace_back(low + (high - low) * t);
      }
    }
    const auto found = whole.evaluate(rows);
    for (Value value = 0; value < values; ++value) {
      for (const Complex& number : found[value]) {
        // A complex value has the interval of its magnitude, to both sides.
        const double high = number.imag() == 0 ? number.real() : std::abs(number);
        const double low = number.imag() == 0 ? number.real() : -std::abs(number);
        ranges[value].low = std::min(ranges[value].low, low);
        ranges[value].high = std::max(ranges[value].high, high);
      }
    }
  }
  // What a Chebyshev polynomial takes may lie in all of its interval. Others that such ones give may lie a
  // little beyond those at points.
  std::vector<bool> is_taken(values);
  Value after = values;
  for (auto part = function.parts().rbegin(); part != function.parts().rend(); ++part) {
    const Value first = after - value_count(*part);
    const auto* own = std::get_if<Function::OfPolynomial>(&*part);
    if (own != nullptr && own->polynomial.basis() == Basis::chebyshev) {
      const auto& [low, high] = own->polynomial.interval();
      ranges[own->x] = {std::min(ranges[own->x].low, low), std::max(ranges[own->x].high, high)};
      is_taken[own->x] = true;
      for (Value value = first; value < after; ++value) {
        const double more = is_taken[value] ? 0 : beyond_points * (ranges[value].high - ranges[value].low);
        ranges[value] = {ranges[value].low - more, ranges[value].high + more};
      }
    }
    after = first;
  }
  for (Interval& range : ranges) {
    // A constant is an interval, too.
    if (!(range.low < range.high)) range.high = std::nextafter(range.low, HUGE_VAL);
  }
  return ranges;
}

}  // namespace

std::vector<FunctionStage> stages_of(const Function& function, std::size_t first_levels, std::size_t levels) {
  if (function.outputs().empty()) throw ParameterError("a function without outputs: call set_outputs");
  const std::vector<Place> places = places_of(function, first_levels, levels);
  const std::vector<bool> is_needed = needed_parts(function);
  const std::size_t inputs = function.inputs().size();
  // For each stage: its parts with their first value, the values that it takes from before, and its results.
  std::map<std::size_t, std::vector<std::pair<std::size_t, Value>>> parts;
  std::map<std::size_t, std::set<Value>> taken, given;
  Value first = inputs;
  for (std::size_t i = 0; i < function.parts().size(); ++i) {
    const std::size_t stage = places[first].stage;
    if (is_needed[i]) {
      parts[stage].emplace_back(i, first);
      for (const Value operand : operands_of(function.parts()[i])) {
        if (operand >= inputs && places[operand].stage == stage) continue;
        taken[stage].insert(operand);
        if (operand >= inputs) given[places[operand].stage].insert(operand);
      }
    }
    first += value_count(function.parts()[i]);
  }
  for (const Value output : function.outputs()) {
    if (output >= inputs) given[places[output].stage].insert(output);
  }

  std::vector<Interval> ranges = ranges_of(function, places.size());
  std::copy(function.inputs().begin(), function.inputs().end(), ranges.begin());
  std::vector<FunctionStage> stages;
  for (const auto& [number, own] : parts) {
    std::map<Value, Value> inside;  // numbers in the stage
    std::vector<Interval> intervals;
    for (const Value value : taken[number]) {
      inside.emplace(value, intervals.size());
      intervals.push_back(ranges[value]);
    }
    Function part(std::move(intervals));
    for (const auto& [i, of_part] : own) {
      Value added = 0;
      if (const auto* sum = std::get_if<Function::Sum>(&function.parts()[i])) {
        Function::Sum copy = *sum;
        for (auto& [a, b] : copy.products) {
          a = inside.at(a);
          b = inside.at(b);
        }
        for (auto& term : copy.terms) term.value = inside.at(term.value);
        added = part.add(std::move(copy));
      } else {
        const auto& [x, polynomial] = std::get<Function::OfPolynomial>(function.parts()[i]);
        added = part.add(inside.at(x), polynomial);
      }
      const std::size_t count = value_count(function.parts()[i]);
      for (std::size_t which = 0; which < count; ++which) inside.emplace(of_part + which, added + which);
    }
    std::vector<Value> outputs;
    for (const Value value : given[number]) outputs.push_back(inside.at(value));
    part.set_outputs(std::move(outputs));
    std::vector<double> largest;
    for (const Value value : given[number]) {
      largest.push_back(std::max(std::abs(ranges[value].low), std::abs(ranges[value].high)));
    }
    part.set_largest(std::move(largest));
    stages.push_back({.function = std::move(part),
                      .inputs = {taken[number].begin(), taken[number].end()},
                      .outputs = {given[number].begin(), given[number].end()}});
  }
  return stages;
}

std::vector<FunctionStage> stages_of(const Function& function) {
  std::size_t levels = 1;
  for (const FunctionPart& part : function.parts()) levels = std::max(levels, depth_of(part));
  return stages_of(function, levels, levels);
}

}  // namespace hemera::circuits
