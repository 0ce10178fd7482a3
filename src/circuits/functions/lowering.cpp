#include "circuits/functions/lowering.hpp"

#include <algorithm>
#include <bit>
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

using Complex = std::complex<double>;
using Value = Function::Value;
/// Numbers by power; those without numbers are zero.
using Coefficients = std::vector<Coefficient>;

// The most by which a factor's scale may differ from its level's: it doubles with each product.
constexpr double most_drift = 0x1p-10;

// a += factor b.
void add_multiple(Coefficient& a, const Coefficient& b, double factor) {
  if (a.empty()) a.resize(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) a[i] += factor * b[i];
}

Coefficients coefficients_of(const Polynomial& polynomial, std::size_t which) {
  Coefficients result(polynomial.degree() + 1);
  for (std::size_t power = 0; power < result.size(); ++power) {
    const auto row = polynomial.coefficient(which, power);
    result[power].assign(row.begin(), row.end());
    if (is_zero(result[power])) result[power].clear();
  }
  return result;
}

std::size_t degree_of(const Coefficients& coefficients) {
  std::size_t degree = coefficients.empty() ? 0 : coefficients.size() - 1;
  while (degree > 0 && coefficients[degree].empty()) --degree;
  return degree;
}

// p = quotient B_g + rest for the basis element B_g, where the quotient's degree is at most g.
struct Split {
  Coefficients quotient, rest;
};

Split split_at(const Coefficients& p, std::size_t degree, std::size_t g, Basis basis) {
  Split result;
  result.rest.assign(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(g));
  result.quotient.assign(p.begin() + static_cast<std::ptrdiff_t>(g),
                         p.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
  if (basis == Basis::power) return result;
  // T_(g+j) = 2 T_g T_j - T_(g-j).
  for (std::size_t j = 1; g + j <= degree; ++j) {
    const Coefficient& c = p[g + j];
    if (c.empty()) continue;
    for (Complex& number : result.quotient[j]) number *= 2;
    Coefficient& mirrored = result.rest[g - j];
    add_multiple(mirrored, c, -1);
    if (is_zero(mirrored)) mirrored.clear();
  }
  return result;
}

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
    if (!is_near(product.b) || !(is_first ? is_near(product.a) : is_adjustable(product.a, 0))) {
      return false;
    }
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

// One way to take polynomials: basis elements up to a number of baby steps are multiplied by coefficients.
// Elements of powers of two split polynomials of higher degree (M. Paterson, L. Stockmeyer, 1973); or, at
// once, all multiples of the number of baby steps do: more powers, which all polynomials share, and one sum
// of products for each polynomial.
class Lowering::Splitting {
 public:
  struct Way {
    std::size_t babies;
    bool at_once;
  };

  Splitting(Lowering& lowering, Value x, const Polynomial& polynomial, std::size_t depth, const Way& way)
      : lowering_(lowering),
        basis_(polynomial.basis()),
        level_(lowering.values_[x].level),
        last_level_(level_ - depth + 1),
        way_(way),
        powers_{{1, x}} {}

  /// Whether the basis elements that split polynomials of this degree have the level of their products.
  [[nodiscard]] bool is_possible(std::size_t degree) const {
    return !way_.at_once || (degree > way_.babies && level_of(degree - degree % way_.babies) >= last_level_);
  }

  std::vector<Value> take(std::vector<Coefficients> polynomials) {
    std::vector<FunctionStep> steps(
        polynomials.size(),
        {.level = last_level_,
         .scale = lowering_.scales_->level_scale(last_level_ - 1) * lowering_.divisor(last_level_)});
    if (way_.at_once) split_all(polynomials, steps);
    std::vector<Value> results;
    for (std::size_t which = 0; which < steps.size(); ++which) {
      results.push_back(last(polynomials[which], steps[which]));
    }
    return results;
  }

 private:
  Value last(const Coefficients& p, FunctionStep& step) {
    expand(p, step);
    // A constant depends on x as much as a ciphertext must.
    if (step.products.empty() && step.terms.empty()) step.terms.push_back({power(1), {0}});
    const std::size_t level = step.level;
    const Value result = lowering_.add_step(std::move(step));
    lowering_.steps_.back().result_scale = lowering_.values_[result].scale =
        lowering_.scales_->level_scale(level - 1);
    return result;
  }

  // Leaves of each polynomial what is of lower degree than the number of baby steps.
  void split_all(std::vector<Coefficients>& polynomials, std::vector<FunctionStep>& steps) {
    std::size_t degree = 0;
    for (const Coefficients& p : polynomials) degree = std::max(degree, degree_of(p));
    for (std::size_t g = degree - degree % way_.babies; g > 0; g -= way_.babies) {
      for (std::size_t which = 0; which < polynomials.size(); ++which) {
        const std::size_t own = degree_of(polynomials[which]);
        if (own < g) continue;
        Split split = split_at(polynomials[which], own, g, basis_);
        add_product(split.quotient, g, steps[which]);
        polynomials[which] = std::move(split.rest);
      }
    }
  }

  // The level of a basis element.
  [[nodiscard]] std::size_t level_of(std::size_t n) const {
    return level_ - static_cast<std::size_t>(std::bit_width(n - 1));
  }

  // x^n = x^a x^b, T_n = 2 T_a T_b - T_(a-b): a the largest power of two below n, b the rest.
  Value power(std::size_t n) {
    if (const auto found = powers_.find(n); found != powers_.end()) return found->second;
    const std::size_t a = std::bit_ceil(n) / 2, b = n - a;
    const Value left = power(a), right = power(b);
    FunctionStep step{.level = std::min(level_of(a), level_of(b))};
    step.products.push_back({left, right});
    step.scale = lowering_.scale_at(left, step.level) * lowering_.scale_at(right, step.level);
    if (basis_ == Basis::chebyshev) {
      step.factor = 2;
      if (a == b) {
        step.constant = {-1};
      } else {
        step.terms.push_back({power(a - b), {-1}});
      }
    }
    return powers_[n] = lowering_.add_step(std::move(step));
  }

  [[nodiscard]] bool is_leaf(const Coefficients& p, std::size_t degree, std::size_t level) const {
    if (degree > way_.babies) return false;
    for (std::size_t n = 1; n <= degree; ++n) {
      if (!p[n].empty() && level_of(n) < level) return false;
    }
    return true;
  }

  // Adds p to a step that has its level and scale.
  void expand(const Coefficients& p, FunctionStep& step) {
    const std::size_t degree = degree_of(p);
    if (is_leaf(p, degree, step.level)) {
      for (std::size_t n = 1; n <= degree; ++n) {
        if (!p[n].empty()) step.terms.push_back({power(n), p[n]});
      }
      if (!p.empty() && !p[0].empty()) {
        if (step.constant.size() < p[0].size()) step.constant.resize(p[0].size(), step.constant.front());
        for (std::size_t i = 0; i < step.constant.size(); ++i) {
          step.constant[i] += p[0].size() == 1 ? p[0].front() : p[0][i];
        }
      }
      return;
    }
    const std::size_t g = std::bit_floor(degree);
    const auto [quotient, rest] = split_at(p, degree, g, basis_);
    expand(rest, step);
    add_product(quotient, g, step);
  }

  // Adds q B_g to a step.
  void add_product(const Coefficients& quotient, std::size_t g, FunctionStep& step) {
    const Value giant = power(g);
    if (degree_of(quotient) == 0) {
      step.terms.push_back({giant, quotient.front()});
      return;
    }
    // Its scale after its rescale is what is left of the sum's.
    FunctionStep inner{.level = step.level + 1};
    inner.scale = step.scale / lowering_.scale_at(giant, step.level) * lowering_.divisor(inner.level);
    expand(quotient, inner);
    step.products.push_back({lowering_.add_step(std::move(inner)), giant});
  }

  Lowering& lowering_;
  Basis basis_;
  std::size_t level_;       // of x
  std::size_t last_level_;  // of the last products
  Way way_;
  std::map<std::size_t, Value> powers_;  // basis elements
};

std::vector<Value> Lowering::add(Value x, const Polynomial& polynomial) {
  if (polynomial.basis() == Basis::chebyshev) {
    const AffineMap map = map_of(polynomial.interval());
    if (polynomial.maps_by_product()) {
      x = add(Function::Sum{.terms = {{x, {map.factor}}}, .constant = {map.shift}});
    } else {
      x = mapped(x, map);
    }
  }
  const std::size_t depth = polynomial.depth() - (polynomial.maps_by_product() ? 1 : 0);
  std::vector<Coefficients> rows;
  for (std::size_t which = 0; which < polynomial.count(); ++which) {
    rows.push_back(coefficients_of(polynomial, which));
  }
  Lowering best = *this;
  std::vector<Value> best_results;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Splitting::Way& way) {
    Lowering trial = *this;
    Splitting splitting(trial, x, polynomial, depth, way);
    if (!splitting.is_possible(polynomial.degree())) return;
    std::vector<Value> results = splitting.take(rows);
    const double cost = trial.cost_from(steps_.size());
    if (cost >= least) return;
    least = cost;
    best = std::move(trial);
    best_results = std::move(results);
  };
  for (std::size_t babies = 1; babies <= std::bit_ceil(std::max<std::size_t>(1, polynomial.degree()));
       babies *= 2) {
    consider({.babies = babies, .at_once = false});
    if (polynomial.count() > 1) consider({.babies = babies, .at_once = true});
  }
  *this = std::move(best);
  return best_results;
}

}  // namespace hemera::circuits
