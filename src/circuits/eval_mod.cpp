#include "circuits/eval_mod.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "circuits/eval_mod_scales.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;

rlwe::Scalar number(double value) { return {.value = value}; }

Ciphertext product(const ckks::Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b) {
  Ciphertext result = evaluator.multiply(a, b);
  if (result.size() > 2) evaluator.relinearize_inplace(result);
  return result;
}

// 2 a b, by half the scale: nothing is computed for the factor.
Ciphertext twice_product(const ckks::Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b) {
  Ciphertext result = product(evaluator, a, b);
  result.meta.scale /= 2;
  return result;
}

Ciphertext rescaled(const ckks::Evaluator& evaluator, const Ciphertext& x) {
  Ciphertext result = evaluator.rescale(x);
  result.meta.noise_scale_degree = 1;  // whatever the scales were made of
  return result;
}

// 2 x^2 - 1.
Ciphertext doubled(const ckks::Evaluator& evaluator, const Ciphertext& x) {
  Ciphertext result = twice_product(evaluator, x, x);
  evaluator.add_scalar_inplace(result, number(-1));
  return rescaled(evaluator, result);
}

// One level lower, with this scale.
Ciphertext lowered(const ckks::Evaluator& evaluator, const Ciphertext& x, double scale) {
  Ciphertext result = x.clone();
  evaluator.multiply_scalar_inplace(result, number(1), scale);
  result = rescaled(evaluator, result);
  result.meta.scale = scale;
  return result;
}

// The same values with a scale `factor` times as large.
void raise_scale(const ckks::Evaluator& evaluator, Ciphertext& x, double factor) {
  const double divisor = evaluator.context()->scales().policy().scales[x.meta.level].divisor;
  evaluator.multiply_scalar_inplace(x, number(1), x.meta.scale * (factor / divisor));
}

}  // namespace

EvalMod::EvalMod(const rlwe::Parameters& parameters, const BootstrapLayout& layout)
    : series_(fit_eval_mod(
          {.range = eval_mod_range, .weight = ephemeral_weight, .coefficients = parameters.degree()})),
      constant_(layout.constant),
      end_level_(layout.eval_mod_level - eval_mod_steps - (layout.arcsine ? arcsine_steps : 0)),
      end_scale_(parameters.rescaling().scales[end_level_].scale) {
  const double angle = layout.ratio / (2 * std::numbers::pi);
  if (layout.arcsine) arcsine_ = fit_arcsine(layout.ratio);
  slope_ = layout.arcsine ? angle : angle * sine_slope(layout.ratio);
  for (std::size_t level = layout.eval_mod_level; level > end_level_; --level)
    product_levels_.push_back(level);
}

std::size_t EvalMod::products() const {
  // y, T_2, T_3, T_4, two halves, T_8, their join, the doublings.
  return 11 + (arcsine_ ? arcsine_steps : 0);
}

// sum of coefficients[k] T_k, with the scale of the T_k times the constant.
Ciphertext EvalMod::part(const ckks::Evaluator& evaluator, std::span<const double> coefficients,
                         std::span<const Ciphertext* const> chebyshev) const {
  Ciphertext sum;
  for (std::size_t k = 1; k < coefficients.size(); ++k) {
    Ciphertext term = chebyshev[k - 1]->clone();
    evaluator.multiply_scalar_inplace(term, number(std::nearbyint(coefficients[k] * constant_)));
    term.meta.scale *= constant_;
    if (sum.context) {
      evaluator.add_inplace(sum, term);
    } else {
      sum = std::move(term);
    }
  }
  evaluator.add_scalar_inplace(sum, number(coefficients[0]));
  return sum;
}

Ciphertext EvalMod::operator()(const ckks::Evaluator& evaluator, Ciphertext v) const {
  evaluator.add_scalar_inplace(v, number(-0.25 / static_cast<double>(eval_mod_range)));
  const Ciphertext y = doubled(evaluator, v);
  Ciphertext t2 = doubled(evaluator, y);
  Ciphertext t1 = lowered(evaluator, y, t2.meta.scale);

  Ciphertext t3 = twice_product(evaluator, t1, t2);
  Ciphertext subtracted = t1.clone();
  raise_scale(evaluator, subtracted, t3.meta.scale / t1.meta.scale);
  evaluator.subtract_inplace(t3, subtracted);
  t3 = rescaled(evaluator, t3);
  const Ciphertext t4 = doubled(evaluator, t2);
  t1 = lowered(evaluator, t1, t4.meta.scale);
  t2 = lowered(evaluator, t2, t4.meta.scale);

  const auto [high, low] = divide_chebyshev(series_.coefficients, 8);
  const std::array<const Ciphertext*, 3> chebyshev = {&t1, &t2, &t3};
  const auto half = [&](std::span<const double> coefficients) {
    const auto [quotient, remainder] = divide_chebyshev(coefficients, 4);
    Ciphertext sum = product(evaluator, part(evaluator, quotient, chebyshev), t4);
    Ciphertext rest = part(evaluator, remainder, chebyshev);
    raise_scale(evaluator, rest, t4.meta.scale);
    evaluator.add_inplace(sum, rest);
    return rescaled(evaluator, sum);
  };
  Ciphertext t8 = twice_product(evaluator, t4, t4);
  evaluator.add_scalar_inplace(t8, number(-1));
  raise_scale(evaluator, t8, constant_);
  t8 = rescaled(evaluator, t8);
  Ciphertext x = product(evaluator, half(high), t8);
  Ciphertext rest = half(low);
  raise_scale(evaluator, rest, t8.meta.scale);
  evaluator.add_inplace(x, rest);
  x = rescaled(evaluator, x);
  for (int i = 0; i < 3; ++i) x = doubled(evaluator, x);

  if (arcsine_) {
    // s (constant + square s^2): the factor of the square is taken by its scale.
    Ciphertext square = rescaled(evaluator, product(evaluator, x, x));
    x = lowered(evaluator, x, square.meta.scale);
    square.meta.scale /= arcsine_->square;
    evaluator.add_scalar_inplace(square, number(arcsine_->constant));
    x = rescaled(evaluator, product(evaluator, x, square));
  }
  x.meta.scale /= slope_;
  if (!evaluator.context()->scales().close(x.meta.scale, end_scale_)) {
    throw ScaleError("EvalMod: what it is given has another scale than its level's");
  }
  x.meta.scale = end_scale_;
  return x;
}

}  // namespace hemera::circuits
