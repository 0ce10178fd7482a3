#include "hemera/circuits/functions/function.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/functions/function_bounds.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Rows = std::vector<std::vector<Complex>>;

// Bounds that follow from each other differ by so little where they are equal.
constexpr double rounding = 1 + 0x1p-20;

constexpr int most_fraction_bits = 60;

double bound_of(const Interval& interval) {
  return std::max(std::abs(interval.low), std::abs(interval.high));
}

// A sum without a level is what the scale and whole numbers can make.
void require_level(const Function::Sum& sum) {
  if (!sum.fraction_bits) return;
  const int bits = *sum.fraction_bits;
  const bool has_numbers = is_real_number(sum.constant) &&
                           std::all_of(sum.terms.begin(), sum.terms.end(),
                                       [](const auto& term) { return is_real_number(term.factor); });
  const auto is_scaled = [&] { return sum.terms.size() == 1 && sum.terms.front().factor.front().real() > 0; };
  if (sum.products.empty() && has_numbers && bits >= 0 && bits <= most_fraction_bits &&
      (bits != 0 || is_scaled())) {
    return;
  }
  throw ParameterError("a sum with factors of " + std::to_string(bits) +
                       " bits after the point, which takes no level, has no products and real numbers of up "
                       "to " +
                       std::to_string(most_fraction_bits) +
                       " bits, or of 0 bits one term with a factor above 0; leave fraction_bits out");
}

void require_rest(const Coefficient& number, double rest) {
  if (rest == 0 || (std::isfinite(rest) && is_real_number(number))) return;
  throw ParameterError("a rest of " + std::to_string(rest) +
                       " is that of one real number, and finite; leave it out");
}

void evaluate_part(const Function::Sum& sum, Rows& values, std::size_t slots) {
  std::vector<Complex> row(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    Complex products = 0;
    for (const auto& [a, b] : sum.products) products += values[a][slot] * values[b][slot];
    row[slot] = static_cast<double>(sum.factor) * products + in_slot(sum.constant, slot);
    for (const auto& term : sum.terms) row[slot] += in_slot(term.factor, slot) * values[term.value][slot];
  }
  values.push_back(std::move(row));
}

void evaluate_part(const Function::OfPolynomial& part, Rows& values, std::size_t slots) {
  for (std::size_t which = 0; which < part.polynomial.count(); ++which) {
    std::vector<Complex> row(slots);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      row[slot] = part.polynomial.evaluate(which, values[part.x][slot], slot);
    }
    values.push_back(std::move(row));
  }
}

}  // namespace

Function::Function(std::vector<Interval> inputs) : inputs_(std::move(inputs)), depths_(inputs_.size(), 0) {
  if (inputs_.empty()) throw ParameterError("a function needs at least one input");
  for (const Interval& interval : inputs_) {
    if (!(interval.low < interval.high) || !std::isfinite(interval.high - interval.low)) {
      throw ParameterError("an input from " + std::to_string(interval.low) + " to " +
                           std::to_string(interval.high) +
                           ": both ends must be finite, and the first below the second");
    }
  }
}

Function::Function(const Polynomial& polynomial) : Function(std::vector{polynomial.interval()}) {
  is_of_powers_ = polynomial.basis() == Basis::power;
  const Value first = add(0, polynomial);
  for (std::size_t which = 0; which < polynomial.count(); ++which) outputs_.push_back(first + which);
}

void Function::require(Value value) const {
  if (value >= depths_.size()) {
    throw ParameterError("a function has " + std::to_string(depths_.size()) +
                         " values so far, and no value " + std::to_string(value));
  }
}

Function::Kind Function::with(Kind kind, std::span<const Complex> coefficients, std::size_t width) {
  for (const Complex& c : coefficients) {
    if (!std::isfinite(c.real()) || !std::isfinite(c.imag())) {
      throw ParameterError("a function has a coefficient that is not finite");
    }
    kind.is_real = kind.is_real && c.imag() == 0;
  }
  if (width == 1 || (width == kind.width && width != 0)) return kind;
  if (kind.width != 1 || !std::has_single_bit(width)) {
    throw ParameterError("coefficients of " + std::to_string(width) + " slots do not fit a function of " +
                         std::to_string(kind.width) +
                         "; give one number, or one for each slot (a power of two)");
  }
  kind.width = width;
  return kind;
}

Function::Value Function::add(Sum sum) {
  if (sum.factor != 1 && sum.factor != 2 && sum.factor != -1) {
    throw ParameterError("the factor of a sum of products is 1, 2 or -1, not " + std::to_string(sum.factor));
  }
  if (sum.products.empty() && sum.terms.empty()) {
    throw ParameterError("a sum of no product and no term depends on no input");
  }
  require_level(sum);
  std::size_t depth = 0;
  Kind kind = kind_;  // the function's own stays as it is until all is known to fit
  for (const auto& [a, b] : sum.products) {
    require(a);
    require(b);
    depth = std::max({depth, depths_[a], depths_[b]});
  }
  require_rest(sum.constant, sum.constant_rest);
  for (const auto& [value, factor, rest] : sum.terms) {
    require(value);
    require_rest(factor, rest);
    kind = with(kind, factor, factor.size());
    depth = std::max(depth, depths_[value]);
  }
  kind_ = with(kind, sum.constant, sum.constant.size());
  depths_.push_back(depth + (sum.fraction_bits ? 0 : 1));
  parts_.emplace_back(std::move(sum));
  return depths_.size() - 1;
}

Function::Value Function::add(Value x, Polynomial polynomial) {
  require(x);
  kind_ = with(kind_, polynomial.coefficients(), polynomial.width());
  is_of_powers_ = is_of_powers_ && polynomial.basis() == Basis::power;
  const Value first = depths_.size();
  depths_.insert(depths_.end(), polynomial.count(), depths_[x] + polynomial.depth());
  parts_.emplace_back(OfPolynomial{x, std::move(polynomial)});
  return first;
}

std::vector<Function::Value> Function::add(const Function& other, std::span<const Value> inputs) {
  if (inputs.size() != other.inputs_.size()) {
    throw ParameterError("a function of " + std::to_string(other.inputs_.size()) +
                         " inputs was added to another one with values for " + std::to_string(inputs.size()));
  }
  for (const Value value : inputs) require(value);
  Function grown = *this;                                   // which stays as it was where a part does not fit
  std::vector<Value> values(inputs.begin(), inputs.end());  // by their numbers in the other
  for (const auto& part : other.parts_) {
    if (const auto* sum = std::get_if<Sum>(&part)) {
      Sum own = *sum;
      for (auto& [a, b] : own.products) {
        a = values[a];
        b = values[b];
      }
      for (auto& term : own.terms) term.value = values[term.value];
      values.push_back(grown.add(std::move(own)));
    } else {
      const auto& [x, polynomial] = std::get<OfPolynomial>(part);
      const Value first = grown.add(values[x], polynomial);
      for (std::size_t which = 0; which < polynomial.count(); ++which) values.push_back(first + which);
    }
  }
  std::vector<Value> results;
  for (const Value output : other.outputs_) results.push_back(values[output]);
  *this = std::move(grown);
  return results;
}

void Function::set_outputs(std::vector<Value> outputs) {
  if (outputs.empty()) throw ParameterError("a function needs at least one output");
  for (const Value value : outputs) require(value);
  outputs_ = std::move(outputs);
  largest_.clear();
}

void Function::set_largest(std::vector<double> largest) {
  if (largest.size() != outputs_.size()) {
    throw ParameterError("a function of " + std::to_string(outputs_.size()) +
                         " outputs was given bounds of " + std::to_string(largest.size()));
  }
  largest_ = std::move(largest);
}

std::vector<double> Function::bounds() const { return bounds_over_intervals(*this); }

void Function::require_in_intervals(std::span<const double> largest) const {
  if (is_unbounded()) return;
  for (std::size_t i = 0; i < std::min(largest.size(), inputs_.size()); ++i) {
    const auto& [low, high] = inputs_[i];
    if (!std::isfinite(largest[i]) || largest[i] <= bound_of(inputs_[i]) * rounding) continue;
    char text[400];
    std::snprintf(
        text, sizeof(text),
        "function: values of a magnitude of up to %.6g are declared, and its interval is from %.6g to "
        "%.6g, outside of which results are wrong; make the function for a wider interval, or ",
        largest[i], low, high);
    throw RangeError(
        text + Message(WayOut::clipped_function, "one that clips, or declare a smaller bound of the values"));
  }
}

std::size_t Function::depth() const {
  std::size_t depth = 0;
  for (const Value value : outputs_) depth = std::max(depth, depths_[value]);
  return depth;
}

std::size_t Function::depth_of(Value value) const {
  require(value);
  return depths_[value];
}

Rows Function::evaluate(std::span<const std::vector<Complex>> inputs) const {
  const std::size_t slots = inputs.empty() ? 0 : inputs.front().size();
  const bool is_even = std::all_of(inputs.begin(), inputs.end(),
                                   [&](const std::vector<Complex>& row) { return row.size() == slots; });
  if (inputs.size() != inputs_.size() || !is_even || (kind_.width != 1 && slots != kind_.width)) {
    throw ParameterError("a function of " + std::to_string(inputs_.size()) + " inputs" +
                         (kind_.width == 1 ? "" : " of " + std::to_string(kind_.width) + " values each") +
                         " was given " + std::to_string(inputs.size()) + " of " + std::to_string(slots) +
                         " values, or of different lengths");
  }
  Rows values(inputs.begin(), inputs.end());
  for (const auto& part : parts_) {
    std::visit([&](const auto& each) { evaluate_part(each, values, slots); }, part);
  }
  Rows results;
  for (const Value value : outputs_) results.push_back(values[value]);
  return results;
}

}  // namespace hemera::circuits
