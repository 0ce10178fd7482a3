#include "circuits/bootstrap/eval_mod.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "circuits/bootstrap/nested_series.hpp"
#include "circuits/functions/exact_scales.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/exact_quotient.hpp"

namespace hemera::circuits {
namespace {

using arith::TwoDoubles;
using Value = Function::Value;

// The most by which the steps' scale may differ from its level's: it has the power 2^steps of v's scale.
double most_drift(std::size_t steps) { return std::exp2(static_cast<double>(steps) - 48); }

// A series in T_1, T_2, ... of y, as parts of a function; or in T_1, i T_1, i^2 T_2, ..., of i y.
class SineSeries {
 public:
  SineSeries(Function& function, Value y, std::span<const TwoDoubles> series, int fraction_bits, bool turned)
      : function_(function),
        fraction_bits_(fraction_bits),
        turned_(turned),
        series_(series.begin(), series.end()) {
    const std::size_t first = turned ? 1 : 0;  // of the steps, that which else gives y
    series_.resize(std::max(std::size_t{4} << first, std::bit_ceil(series_.size())));
    // Parts of m coefficients, for about as many products below T_m as above.
    const auto log_size = static_cast<std::size_t>(std::countr_zero(series_.size())) - first;
    fill_small(y, std::size_t{1} << (log_size / 2 + first));
  }

  Value sum() {
    const std::size_t m = small_.size();
    std::vector<std::vector<TwoDoubles>> parts{series_};
    while (parts.front().size() > 2 * m) parts = halves(parts);
    std::vector<Value> values;
    Value giant = small_.back();
    // Twice the scale in place of a factor 2, and the scale of the coefficients in place of another level.
    const bool has_giant = parts.size() > 1;
    if (has_giant)
      giant = doubled(function_.add({.terms = {{giant, {1}}}, .fraction_bits = fraction_bits_}), giant);
    for (const auto& part : parts) values.push_back(pair(part));
    while (values.size() > 1) {
      const Value factor = giant;
      if (values.size() > 2) giant = doubled(factor, factor);
      std::vector<Value> next;
      for (std::size_t i = 0; i < values.size(); i += 2) {
        next.push_back(function_.add({.products = {{values[i], factor}}, .terms = {{values[i + 1], {1}}}}));
      }
      values = std::move(next);
    }
    return values.front();
  }

 private:
  // T_2n of T_n.
  Value doubled(Value a, Value b, std::size_t n = 2) {
    return function_.add({.factor = 2, .products = {{a, b}}, .constant = {chebyshev_sign(n, turned_)}});
  }

  // T_1 to T_m: from the first n the next n, T_(n+j) = 2 T_n T_j - T_(n-j), a level lower.
  void fill_small(Value y, std::size_t m) {
    small_ = {y};
    while (small_.size() < m) {
      const std::vector<Value> known = small_;
      const std::size_t n = known.size();
      small_.clear();
      for (const Value value : known) small_.push_back(function_.add({.terms = {{value, {1}}}}));
      for (std::size_t j = 1; j < n; ++j) {
        small_.push_back(function_.add({.factor = 2,
                                        .products = {{known[j - 1], known[n - 1]}},
                                        .terms = {{known[n - j - 1], {chebyshev_sign(j, turned_)}}}}));
      }
      small_.push_back(doubled(known[n - 1], known[n - 1], n));
    }
  }

  // Quotient and rest of each part by T of half its length.
  [[nodiscard]] std::vector<std::vector<TwoDoubles>> halves(
      const std::vector<std::vector<TwoDoubles>>& parts) const {
    std::vector<std::vector<TwoDoubles>> result;
    for (const auto& part : parts) {
      auto [quotient, rest] = divide_chebyshev(part, part.size() / 2, turned_);
      result.push_back(std::move(quotient));
      result.push_back(std::move(rest));
    }
    return result;
  }

  // Coefficients of T_0 to T_(m-1): those that are zero are left out, but for one.
  [[nodiscard]] Function::Sum linear(const std::vector<TwoDoubles>& coefficients) const {
    Function::Sum sum{.constant = {coefficients.front().value}, .constant_rest = coefficients.front().rest};
    for (std::size_t k = 1; k < coefficients.size(); ++k) {
      const auto& [value, rest] = coefficients[k];
      if (value != 0) sum.terms.push_back({small_[k - 1], {value}, rest});
    }
    if (sum.terms.empty()) sum.terms.push_back({small_.front(), {0}});
    return sum;
  }

  Value pair(const std::vector<TwoDoubles>& part) {
    const std::size_t m = small_.size();
    const auto [quotient, rest] = divide_chebyshev(part, m, turned_);
    Function::Sum factor = linear(quotient), sum = linear(rest);
    factor.fraction_bits = fraction_bits_;
    sum.products = {{function_.add(std::move(factor)), small_.back()}};
    return function_.add(std::move(sum));
  }

  Function& function_;
  int fraction_bits_;
  bool turned_;
  std::vector<TwoDoubles> series_;
  std::vector<Value> small_;  // T_1 to T_m
};

// A quarter of a turn of v.
double quarter_turn(double range) { return -0.25 / range; }

// The rest of v's scale, to which CoeffToSlot leads from q_0, less its double.
double scale_rest(const rlwe::Parameters& parameters, const BootstrapLayout& layout) {
  const auto& scales = parameters.rescaling().scales;
  TwoDoubles scale = rlwe::product_without(parameters.literal().levels.front(), {});
  for (std::size_t level = layout.top_level; level > layout.eval_mod_level; --level) {
    scale = rescaled(scale * TwoDoubles{matrix_scale(parameters, level)}, parameters, level);
  }
  return (scale.value - scales[layout.eval_mod_level].scale) + scale.rest;
}

FunctionPlan plan_of(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                     const EvalModSeries& series, bool joins_parts) {
  SineCircuit circuit{.range = static_cast<double>(layout.sine.range),
                      .series = series.coefficients,
                      .doublings = layout.sine.doublings,
                      .fraction_bits = layout.constant_bits,
                      .arcsine = std::nullopt,
                      .exponential = layout.sine.exponential,
                      .nested = layout.sine.nested,
                      .moved = true};
  if (layout.arcsine) circuit.arcsine = fit_arcsine(layout.ratio);
  return FunctionPlan(parameters, sine_function(circuit),
                      {.level = layout.eval_mod_level,
                       .scale_rest = scale_rest(parameters, layout),
                       .own_keys = true,
                       .doubles_by_scale = true,
                       .joins_parts = joins_parts,
                       .reserved_levels = true});
}

}  // namespace

Function sine_function(const SineCircuit& circuit) {
  Function function(std::vector{Interval{-1, 1}});
  if (circuit.exponential) {
    Value z = circuit.nested ? add_nested_exponential(function, 0)
                             : SineSeries(function, 0, circuit.series, circuit.fraction_bits, true).sum();
    for (std::size_t i = 0; i < circuit.doublings; ++i) z = function.add({.products = {{z, z}}});
    function.set_outputs({z});
    return function;
  }
  const auto doubled = [&](Value x) {
    return function.add({.factor = 2, .products = {{x, x}}, .constant = {-1}});
  };
  const Function::Sum moved{
      .terms = {{0, {1}}}, .constant = {quarter_turn(circuit.range)}, .fraction_bits = 0};
  const Value v = circuit.moved ? Value{0} : function.add(moved);
  Value x = circuit.nested
                ? add_nested_series(function, v)
                : SineSeries(function, doubled(v), circuit.series, circuit.fraction_bits, false).sum();
  for (std::size_t i = 0; i < circuit.doublings; ++i) x = doubled(x);
  if (circuit.arcsine) {
    // s (constant + square s^2): the scale takes the factor of the square.
    const Value sine = function.add({.terms = {{x, {1}}}});
    const Value square = function.add({.products = {{x, x}}});
    const Value factor = function.add({.terms = {{square, {circuit.arcsine->square}}},
                                       .constant = {circuit.arcsine->constant},
                                       .fraction_bits = 0});
    x = function.add({.products = {{sine, factor}}});
  }
  function.set_outputs({x});
  return function;
}

EvalMod::EvalMod(const rlwe::Parameters& parameters, const BootstrapLayout& layout, bool joins_parts)
    : series_(checked_series(layout.sine, layout.ratio, parameters.degree())),
      plan_(plan_of(parameters, layout, series_, joins_parts)),
      end_scale_(parameters.rescaling().scales[end_level()].scale),
      shift_(layout.sine.exponential ? 0 : quarter_turn(static_cast<double>(layout.sine.range))) {
  const double angle = layout.ratio / (2 * std::numbers::pi);
  const double slope =
      layout.sine.exponential ? 1 : (layout.arcsine ? angle : angle * sine_slope(layout.ratio));
  const double drift = std::abs(plan_.ends().result_scale / slope / end_scale_ - 1);
  if (!(drift <= most_drift(layout.eval_mod_level - layout.eval_mod_end()))) {
    throw ScaleError("EvalMod: the levels' scales are not those that its steps lead to");
  }
}

}  // namespace hemera::circuits
