#include "circuits/bootstrap/eval_mod.hpp"

#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/eval_mod_scales.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "hemera/arith/big_integer.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

using arith::BigInteger;
using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using rlwe::Ciphertext;

// Nearest to x.
BigInteger integer(double x) { return ckks::scaled_integer(x, 1); }

// Batches of ciphertexts at one level, with one scale.
struct Batch {
  poly::Poly poly;
  std::size_t level;
  double scale;

  [[nodiscard]] PolyView view() { return poly.view(); }
  [[nodiscard]] ConstPolyView view() const { return poly.view(); }
};

// What the steps are made of. A step of products is one division: relinearization and rescale together, with
// everything that is added to the products put in before it.
class Steps {
 public:
  Steps(const ckks::Evaluator& evaluator, std::size_t count)
      : context_(*evaluator.context()), keys_(evaluator.keys()), count_(count) {}

  // Room for `groups` times as many ciphertexts as EvalMod was given.
  [[nodiscard]] Batch make(std::size_t groups, std::size_t size, std::size_t level, double scale) const {
    return {context_.make_poly(groups * count_, size, context_.base(level), Form::evaluation), level, scale};
  }
  template <typename View>
  [[nodiscard]] View group(const View& view, std::size_t first, std::size_t groups = 1) const {
    return view.batches(first * count_, groups * count_);
  }
  [[nodiscard]] double divisor(std::size_t level) const {
    return context_.scales().policy().scales[level].divisor;
  }

  // out = a (x) b, of size 3.
  void multiply(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                std::size_t level) const {
    context_.inner_product(out, std::span(&a, 1), std::span(&b, 1), context_.base(level));
  }
  // out = products of size 3 at `level`, relinearized and one level lower.
  void end_products(const PolyView& out, const ConstPolyView& products, std::size_t level) const {
    const auto key = this->key(level);
    const poly::Backend::KeySwitch only{out, key->poly.view()};
    auto workspace = context_.make_workspace();
    context_.backend().switch_keys(context_.queue(), std::span(&only, 1), products.components(2, 1),
                                   key->gadget->mod_up(level), key->gadget->mod_down(level, level - 1),
                                   products.components(0, 2), workspace);
  }
  // out = a b, relinearized and one level lower.
  void product(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b, std::size_t level) const {
    if (context_.multiplier() != nullptr) {
      Batch product = make(1, 3, level, 1);
      multiply(product.view(), a, b, level);
      return end_products(out, std::as_const(product).view(), level);
    }
    const auto key = this->key(level);
    auto workspace = context_.make_workspace();
    context_.backend().multiply_relinearize(context_.queue(), out, a, b, key->poly.view(),
                                            key->gadget->mod_up(level),
                                            key->gadget->mod_down(level, level - 1), workspace);
  }
  // a b + constant of a stack of two parts, joined as real + i imaginary and one level lower.
  [[nodiscard]] poly::Poly joined(const ConstPolyView& a, const ConstPolyView& b, double constant,
                                  double scale, const rlwe::Plaintext& i, std::size_t level) const {
    Batch products = make(1, 3, level, scale);
    multiply(products.view(), a, b, level);
    if (constant != 0) add_constant(products.view(), constant, scale, level);
    const std::size_t half = count_ / 2;
    const PolyView real = products.view().batches(0, half), imaginary = products.view().batches(half, half);
    context_.backend().multiply_add(context_.queue(), real, imaginary, i.poly.view(), context_.base(level));
    poly::Poly out = context_.make_poly(half, 2, context_.base(level - 1), Form::evaluation);
    end_products(out.view(), real, level);
    return out;
  }
  // 2 x^2 - 1, one level lower: half the scale stands for the factor 2.
  [[nodiscard]] double square_scale(double scale, std::size_t level) const {
    return scale * scale / 2 / divisor(level);
  }
  void doubled(const PolyView& out, const ConstPolyView& x, double scale, std::size_t level) const {
    product(out, x, x, level);
    add_constant(out, -1, square_scale(scale, level), level - 1);
  }
  [[nodiscard]] Batch doubled(const Batch& x) const {
    Batch result = make(1, 2, x.level - 1, square_scale(x.scale, x.level));
    doubled(result.view(), x.view(), x.scale, x.level);
    return result;
  }
  // x one level lower, from its scale to another.
  void lower(const PolyView& out, const ConstPolyView& x, double from, double to, std::size_t level) const {
    const double factor = std::nearbyint(to * (divisor(level) / from));
    auto workspace = context_.make_workspace();
    context_.backend().divide_and_round(context_.queue(), out, x, context_.rescale(level, factor),
                                        Form::evaluation, workspace);
  }

  void multiply_integer(const PolyView& out, const ConstPolyView& x, const BigInteger& factor,
                        std::size_t level) const {
    const poly::RnsBase& base = context_.base(level);
    context_.backend().multiply_scalar(context_.queue(), out, x, ckks::residues(factor, base), base);
  }
  // A multiple of a batch.
  struct Multiple {
    ConstPolyView of;
    BigInteger factor;
  };
  // out = the sum of the multiples and of a number in every slot; `out` may be the first of them.
  void combine(const PolyView& out, std::span<const Multiple> multiples, const BigInteger& number,
               std::size_t level) const {
    const poly::RnsBase& base = context_.base(level);
    std::vector<ConstPolyView> views;
    std::vector<std::vector<std::uint64_t>> scalars;
    for (const auto& [view, factor] : multiples) {
      views.push_back(view);
      scalars.push_back(ckks::residues(factor, base));
    }
    auto workspace = context_.make_workspace();
    context_.backend().combine(context_.queue(), out, views, scalars, ckks::residues(number, base), base,
                               workspace);
  }
  // Adds the value to every slot of what has this scale.
  void add_constant(const PolyView& out, double value, double scale, std::size_t level) const {
    const poly::RnsBase& base = context_.base(level);
    const PolyView first = out.components(0, 1);
    context_.backend().add_scalar(context_.queue(), first, first,
                                  ckks::residues(integer(value * scale), base), Form::evaluation, base);
  }

 private:
  [[nodiscard]] std::shared_ptr<const rlwe::SwitchingKey> key(std::size_t level) const {
    return require_key(keys_, {rlwe::KeyRole::relinearization(),
                               product_gadget(context_.parameters(), level, most_special_primes)});
  }

  const rlwe::Context& context_;
  const rlwe::EvaluationKeys& keys_;
  std::size_t count_;
};

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

Ciphertext EvalMod::operator()(const ckks::Evaluator& evaluator, Ciphertext v,
                               const rlwe::Plaintext* i) const {
  evaluator.add_scalar_inplace(v, {.value = -0.25 / static_cast<double>(eval_mod_range)});
  const rlwe::Metadata given = v.meta;
  const Steps steps(evaluator, v.poly.shape().batch);
  std::size_t level = given.level;

  const Batch y = steps.doubled({.poly = std::move(v.poly), .level = level--, .scale = given.scale});
  // T_1, T_2.
  Batch two = steps.make(2, 2, level - 1, steps.square_scale(y.scale, level));
  steps.lower(steps.group(two.view(), 0), y.view(), y.scale, two.scale, level);
  steps.doubled(steps.group(two.view(), 1), y.view(), y.scale, level--);

  // T_1 to T_4, with T_3 = 2 T_1 T_2 - T_1 and T_4 = 2 T_2 T_2 - 1.
  Batch four = steps.make(4, 2, level - 1, steps.square_scale(two.scale, level));
  steps.lower(steps.group(four.view(), 0, 2), two.view(), two.scale, four.scale, level);
  {
    const ConstPolyView both = std::as_const(two).view();
    const ConstPolyView t1 = steps.group(both, 0), t2 = steps.group(both, 1);
    Batch products = steps.make(2, 3, level, 1);
    const PolyView third = steps.group(products.view(), 0);
    steps.multiply(third, t1, t2, level);
    steps.multiply(steps.group(products.view(), 1), t2, t2, level);
    const PolyView linear = third.components(0, 2);
    steps.combine(linear, std::vector<Steps::Multiple>{{linear, integer(1)}, {t1, -integer(two.scale / 2)}},
                  integer(0), level);
    steps.end_products(steps.group(four.view(), 2, 2), std::as_const(products).view(), level--);
    steps.add_constant(steps.group(four.view(), 3), -1, four.scale, level);
  }

  // T_8, and the halves H and L of the series H T_8 + L, each of the form Q T_4 + R. Coefficients are
  // integers over the constant, which T_8 gets by its scale.
  Batch three = steps.make(3, 2, level - 1, constant_ * steps.square_scale(four.scale, level));
  {
    const ConstPolyView all = std::as_const(four).view();
    const ConstPolyView t4 = steps.group(all, 3);
    Batch products = steps.make(3, 3, level, 1), part = steps.make(1, 2, level, constant_ * four.scale);
    steps.multiply_integer(part.view(), t4, integer(constant_), level);
    steps.multiply(steps.group(products.view(), 0), std::as_const(part).view(), t4, level);
    const ChebyshevQuotient halves = divide_chebyshev(series_.coefficients, 8);
    for (std::size_t half = 0; half < 2; ++half) {
      const auto [quotient, rest] = divide_chebyshev(half == 0 ? halves.quotient : halves.remainder, 4);
      const auto coefficient = [&](double value) { return integer(std::nearbyint(value * constant_)); };
      std::vector<Steps::Multiple> factors, rests;
      const PolyView out = steps.group(products.view(), 1 + half);
      const PolyView linear = out.components(0, 2);
      rests.push_back({linear, integer(1)});
      for (std::size_t k = 1; k < 4; ++k) {
        factors.push_back({steps.group(all, k - 1), coefficient(quotient[k])});
        rests.push_back({steps.group(all, k - 1), coefficient(rest[k]) * integer(four.scale)});
      }
      steps.combine(part.view(), factors, integer(quotient[0] * part.scale), level);
      steps.multiply(out, std::as_const(part).view(), t4, level);
      steps.combine(linear, rests, integer(rest[0] * (part.scale * four.scale)), level);
    }
    steps.end_products(three.view(), std::as_const(products).view(), level--);
    steps.add_constant(steps.group(three.view(), 0), -1, three.scale, level);
  }

  // H and L have twice the scale of T_8, for which half the scale stands for a factor 2.
  Batch x = steps.make(1, 2, level - 1, 2 * three.scale * three.scale / steps.divisor(level));
  {
    const ConstPolyView all = std::as_const(three).view();
    Batch products = steps.make(1, 3, level, 1);
    steps.multiply(products.view(), steps.group(all, 1), steps.group(all, 0), level);
    const PolyView linear = products.view().components(0, 2);
    steps.combine(
        linear,
        std::vector<Steps::Multiple>{{linear, integer(1)}, {steps.group(all, 2), integer(three.scale)}},
        integer(0), level);
    steps.end_products(x.view(), std::as_const(products).view(), level--);
  }
  const bool joins_sines = i != nullptr && !arcsine_;
  for (int doublings = joins_sines ? 2 : 3; doublings > 0; --doublings, --level) x = steps.doubled(x);
  if (joins_sines) {
    const ConstPolyView half = std::as_const(x).view();
    x.poly = steps.joined(half, half, -1, x.scale * x.scale / 2, *i, level);
    x.scale = steps.square_scale(x.scale, level--);
  }
  if (arcsine_) {
    // s (constant + square s^2): the factor of the square is taken by its scale.
    Batch both = steps.make(2, 2, level - 1, x.scale * x.scale / steps.divisor(level));
    const PolyView square = steps.group(both.view(), 0), sine = steps.group(both.view(), 1);
    steps.product(square, x.view(), x.view(), level);
    steps.lower(sine, x.view(), x.scale, both.scale, level--);
    const double square_scale = both.scale / arcsine_->square;
    steps.add_constant(square, arcsine_->constant, square_scale, level);
    x.scale = both.scale * square_scale / steps.divisor(level);
    if (i != nullptr) {
      x.poly = steps.joined(sine, square, 0, 1, *i, level--);
    } else {
      x = steps.make(1, 2, level - 1, x.scale);
      steps.product(x.view(), sine, square, level--);
    }
  }
  // The scale depends on that of v with a power of up to 1024, and so on v's last bit.
  if (std::abs(x.scale / slope_ / end_scale_ - 1) > 0x1p-38) {
    throw ScaleError("EvalMod: what it is given has another scale than its level's");
  }
  Ciphertext result{evaluator.context(), given, std::move(x.poly), {}};
  if (i != nullptr) result.meta.batch.erase(result.meta.batch.begin());
  result.meta.level = level;
  result.meta.scale = end_scale_;
  result.meta.noise_scale_degree = 1;
  return result;
}

}  // namespace hemera::circuits
