// The steps of polynomials: those of the least cost, of several ways to split a polynomial.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/functions/lowering.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Value = Function::Value;
/// Numbers by power; those without numbers are zero.
using Coefficients = std::vector<Coefficient>;

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
