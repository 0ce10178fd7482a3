#include "circuits/functions/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Value = Function::Value;

// The most by which a factor's scale may differ from its level's: it doubles with each product.
constexpr double most_drift = 0x1p-10;

}  // namespace

bool has_real_numbers(const FunctionStep& step) {
  return std::all_of(step.terms.begin(), step.terms.end(),
                     [](const auto& term) { return is_real_number(term.factor); });
}

StepCosts::StepCosts(const rlwe::Parameters& parameters) {
  for (std::size_t level = 0; level < parameters.levels(); ++level) {
    const rlwe::GadgetPrimes gadget = parameters.default_gadget(level);
    limbs_.push_back(static_cast<double>(parameters.literal().levels[level].size()));
    const auto digits = static_cast<double>(gadget.digits.size());
    const double extended = limbs_.back() + static_cast<double>(gadget.special.size());
    // Reads two components of each digit's key; extends and divides, with transforms that count thrice.
    switches_.push_back((2 * digits + 3 * (digits + 1)) * extended);
  }
}

double StepCosts::of(const FunctionStep& step) const {
  const double limbs = limbs_[step.level];
  const double sums = static_cast<double>(7 * step.products.size() + 4 * step.terms.size()) * limbs;
  return sums + (step.products.empty() ? 0 : switches_[step.level]) + (step.rescaled ? 8 * limbs : 0);
}

Value Lowering::add_input(std::size_t level, double scale) {
  values_.push_back({.level = level, .scale = scale});
  return values_.size() - 1;
}

double Lowering::scale_at(Value value, std::size_t level) const {
  rlwe::Metadata meta;
  meta.level = values_[value].level;
  meta.scale = values_[value].scale;
  return scales_->dropped(meta, level).meta.scale;
}

double Lowering::cost_from(std::size_t first) const {
  double sum = 0;
  for (std::size_t i = first; i < steps_.size(); ++i) sum += costs_->of(steps_[i]);
  return sum;
}

Value Lowering::add_step(FunctionStep step) {
  step.result_level = step.level - 1;
  step.result_scale = step.scale / divisor(step.level);
  values_.push_back({.level = step.result_level, .scale = step.result_scale});
  steps_.push_back(std::move(step));
  return values_.size() - 1;
}

Value Lowering::add_unrescaled(FunctionStep step) {
  step.result_level = step.level;
  step.result_scale = step.scale;
  values_.push_back({.level = step.level, .scale = step.scale});
  steps_.push_back(std::move(step));
  return values_.size() - 1;
}

Value Lowering::lowered(Value value, std::size_t level) {
  if (values_[value].level == level) return value;
  FunctionStep step{.level = level + 1, .scale = scales_->level_scale(level) * divisor(level + 1)};
  step.terms.push_back({value, {1}});
  return add_step(std::move(step));
}

Value Lowering::mapped(Value x, const AffineMap& map) {
  if (map.factor == 1 && map.shift == 0) return x;
  const rlwe::PlainOperand from = values_[x];
  FunctionStep step{.level = from.level, .scale = from.scale / map.factor, .rescaled = false};
  step.terms.push_back({x, {map.factor}});
  step.constant = {map.shift};
  return add_unrescaled(std::move(step));
}

// All products of a sum must have one scale: that of the first, to which the first factors of the others are
// brought by the scales that their own coefficients are encoded at.
bool Lowering::fits_by_leaves(const Function::Sum& sum, std::size_t level) {
  const auto is_near = [&](Value value) {
    return std::abs(scale_at(value, level) / scales_->level_scale(level) - 1) < most_drift;
  };
  for (const auto& product : sum.products) {
    const bool is_first = &product == &sum.products.front();
    if (!is_near(product.b) || !(is_first ? is_near(product.a) : is_adjustable(product.a, 0))) return false;
  }
  for (const auto& product : sum.products) {
    const auto& [a, b] = sum.products.front();
    const double wanted = scale_at(a, level) * scale_at(b, level) / scale_at(product.b, level);
    if (&product != &sum.products.front()) adjust(product.a, wanted / scale_at(product.a, level));
  }
  return true;
}

// Sums of terms that this many steps take, and of products that begin with a sum which nothing else takes.
bool Lowering::is_adjustable(Value value, std::ptrdiff_t takers) const {
  const std::size_t inputs = values_.size() - steps_.size();
  if (value < inputs) return false;
  const FunctionStep& step = steps_[value - inputs];
  const auto takes = [&](const FunctionStep& other) {
    return std::any_of(other.products.begin(), other.products.end(),
                       [&](const auto& product) { return product.a == value || product.b == value; }) ||
           std::any_of(other.terms.begin(), other.terms.end(),
                       [&](const auto& term) { return term.value == value; });
  };
  return step.rescaled && std::count_if(steps_.begin(), steps_.end(), takes) == takers &&
         std::all_of(step.products.begin(), step.products.end(), [&](const auto& product) {
           return product.a != product.b && is_adjustable(product.a, 1);
         });
}

void Lowering::adjust(Value value, double ratio) {
  const std::size_t inputs = values_.size() - steps_.size();
  FunctionStep& step = steps_[value - inputs];
  for (const auto& product : step.products) adjust(product.a, ratio);
  step.scale *= ratio;
  step.result_scale *= ratio;
  values_[value].scale *= ratio;
}

// Inputs of another scale than their level's, what comes of them, and scales that drift: that of the first
// product whose scale is fixed is everyone's.
void Lowering::match(const std::vector<Function::Product>& products, std::size_t level) {
  const auto scale_of = [&](const Function::Product& product) {
    return scale_at(product.a, level) * scale_at(product.b, level);
  };
  // A factor whose scale nothing else depends on.
  const auto free_factor = [&](const Function::Product& product) -> std::optional<Value> {
    for (const Value value : {product.a, product.b}) {
      std::size_t uses = 0;
      for (const auto& [a, b] : products) uses += (a == value ? 1U : 0U) + (b == value ? 1U : 0U);
      if (uses == (product.a == product.b ? 2U : 1U) && is_adjustable(value, 0)) return value;
    }
    return std::nullopt;
  };
  const auto differs = [&](const Function::Product& product, double scale) {
    return !scales_->close(scale_of(product), scale);
  };
  if (products.empty()) return;
  const auto fixed = std::find_if(products.begin(), products.end(),
                                  [&](const auto& product) { return !free_factor(product); });
  const double wanted = scale_of(fixed == products.end() ? products.front() : *fixed);
  for (const auto& product : products) {
    const std::optional<Value> factor = free_factor(product);
    if (!factor || !differs(product, wanted)) continue;
    const double ratio = wanted / scale_of(product);
    adjust(*factor, product.a == product.b ? std::sqrt(ratio) : ratio);
  }
  for (const auto& product : products) {
    if (!differs(product, wanted)) continue;
    throw ScaleError("a function adds products of scales 2^" + std::to_string(std::log2(wanted)) + " and 2^" +
                     std::to_string(std::log2(scale_of(product))) + " at level " + std::to_string(level) +
                     "; plan it for inputs of their level's scale, to which a level brings them");
  }
}

Value Lowering::unrescaled(const Function::Sum& sum) {
  const Function::Term& first = sum.terms.front();
  const int bits = *sum.fraction_bits;
  if (bits == 0) {
    return mapped(first.value, {.factor = first.factor.front().real(), .shift = sum.constant.front().real()});
  }
  FunctionStep step{.level = std::numeric_limits<std::size_t>::max(),
                    .rescaled = false,
                    .fraction_bits = bits,
                    .terms = sum.terms,
                    .constant = sum.constant,
                    .constant_rest = sum.constant_rest};
  for (auto& term : step.terms) {
    step.level = std::min(step.level, values_[term.value].level);
    const double whole = std::ldexp(term.factor.front().real(), bits), rounded = std::nearbyint(whole);
    // A double of more bits is whole as it is.
    term.rest = std::ldexp(std::nearbyint((whole - rounded) + std::ldexp(term.rest, bits)), -bits);
    term.factor = {std::ldexp(rounded, -bits)};
  }
  step.scale = std::ldexp(scale_at(first.value, step.level), bits);
  return add_unrescaled(std::move(step));
}

Value Lowering::add(const Function::Sum& sum) {
  if (sum.fraction_bits) return unrescaled(sum);
  std::size_t level = std::numeric_limits<std::size_t>::max();
  for (const auto& [a, b] : sum.products) level = std::min({level, values_[a].level, values_[b].level});
  for (const auto& term : sum.terms) level = std::min(level, values_[term.value].level);
  FunctionStep step{.level = level,
                    .factor = sum.factor,
                    .terms = sum.terms,
                    .constant = sum.constant,
                    .constant_rest = sum.constant_rest};
  const bool drops = drifts_ && fits_by_leaves(sum, level);
  std::map<Value, Value> fitted;
  const auto fit = [&](Value value) {
    if (drops) return value;
    const auto [place, is_new] = fitted.try_emplace(value, value);
    if (is_new) place->second = lowered(value, level);
    return place->second;
  };
  for (const auto& [a, b] : sum.products) {
    const Value left = fit(a);
    step.products.push_back({left, fit(b)});
  }
  match(step.products, level);
  step.scale = step.products.empty()
                   ? scales_->level_scale(level - 1) * divisor(level)
                   : scale_at(step.products.front().a, level) * scale_at(step.products.front().b, level);
  if (doubles_by_scale_ && step.factor == 2 && !step.products.empty()) {
    step.doubles_by_scale = true;
    step.scale /= 2;
  }
  return add_step(std::move(step));
}

}  // namespace hemera::circuits
