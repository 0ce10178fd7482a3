// A bootstrap of ciphertexts: magnitudes, levels, iterations around the engine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_engine.hpp"
#include "circuits/bootstrap/bootstrap_matrices.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/descent.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using arith::TwoDoubles;
using rlwe::Ciphertext;

// Up to here values of a declared bound are bootstrapped as they are where no level is left to make them
// smaller: errors are 8 times those of 1.
constexpr double largest_as_it_is = 2;
// The largest relative difference of an input's scale from its level's with which it is taken for it. A level
// is reached to half a bit of the scale, and each square after that doubles the difference; it doubles the
// relative noise as well, which is larger.
constexpr double largest_drift = 0x1p-20;
// Factors that are tried for one whose quotient with the moduli is nearly a whole number, and bits that such
// a number has at least.
constexpr int most_factors = 1024;
constexpr double least_quotient = 0x1p10;
}  // namespace

// A further iteration: with x what is bootstrapped and y what earlier iterations made of it, y + B(2^k (x -
// y)) / 2^k for a bootstrap B has 2^k times less of the error that B adds. (Y. Bae, J. Cheon, W. Cho, J.
// Kim, T. Kim, "META-BTS: bootstrapping precision beyond the limit", 2022/1167.)
//
// Differences are exact but for a rounding of 2^-k: y goes down to x's level in one division, whose factor
// gives it x's scale times 2^k. The sum takes a level, for its division by 2^k.
class Refinement {
 public:
  // k = `factor_log2`; x is at `low`, y at `level`, and what B returns at `high`.
  Refinement(std::size_t low, std::size_t level, std::size_t high, int factor_log2);

  // 2^k (x - y), with the scale of x's level. The scale of x may be any power of two times it.
  [[nodiscard]] rlwe::Ciphertext difference(const rlwe::Ciphertext& x, const rlwe::Ciphertext& y) const;
  // y + z / 2^k, one level below y.
  [[nodiscard]] rlwe::Ciphertext sum(const rlwe::Ciphertext& y, const rlwe::Ciphertext& z) const;

 private:
  std::size_t low_, level_, high_;
  double factor_;
};

Refinement::Refinement(std::size_t low, std::size_t level, std::size_t high, int factor_log2)
    : low_(low), level_(level), high_(high), factor_(std::exp2(factor_log2)) {}

Ciphertext Refinement::difference(const Ciphertext& x, const Ciphertext& y) const {
  const rlwe::Context& context = *x.context;
  const double scale = context.scales().level_scale(low_);
  const TwoDoubles magnified{scale * factor_};
  Ciphertext result{x.context,
                    x.meta,
                    rlwe::descended_by_ratio(context, x.poly, low_, low_, magnified / x.meta.scale.exact()),
                    {}};
  result.meta.scale = scale;
  const poly::Poly low =
      rlwe::descended_by_ratio(context, y.poly, level_, low_, magnified / y.meta.scale.exact());
  const poly::PolyView view = result.poly.view();
  context.backend().subtract(context.queue(), view, view, low.view(), context.base(low_));
  return result;
}

Ciphertext Refinement::sum(const Ciphertext& y, const Ciphertext& z) const {
  const rlwe::Context& context = *y.context;
  const double scale = context.scales().level_scale(level_ - 1);
  // Before the rescale that ends the sum.
  const TwoDoubles wanted = TwoDoubles{scale} * context.scales().divisor(level_);
  poly::Poly both = rlwe::descended_by_ratio(context, y.poly, level_, level_, wanted / y.meta.scale.exact());
  const poly::Poly rest = rlwe::descended_by_ratio(context, z.poly, high_, level_,
                                                   wanted / TwoDoubles{factor_} / z.meta.scale.exact());
  const poly::PolyView view = both.view();
  context.backend().add(context.queue(), view, view, rest.view(), context.base(level_));

  rlwe::Metadata meta = y.meta;
  meta.level = level_ - 1;
  meta.scale = scale;
  Ciphertext result = rlwe::make_ciphertext(y.context, std::move(meta), y.size());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), result.poly.view(), std::as_const(both).view(),
                                     context.rescale(level_), both.form(), workspace);
  return result;
}

PreparedBootstrap::PreparedBootstrap(rlwe::ContextPointer context, const Bootstrap& plan,
                                     std::optional<double> magnitude, bool has_matrices)
    : context_(std::move(context)), plan_(plan), magnitude_(magnitude) {
  const double most = Bootstrap::divisor_for(magnitude.value_or(1));
  if (magnitude && plan_.exponential_) {
    throw ParameterError("a bootstrap to exponentials divides no values by a magnitude; leave it out");
  }
  plan_.require_binding(*context_, "bootstrap");
  engine_ = std::make_shared<const BootstrapEngine>(
      context_, has_matrices ? plan_.stages() : without_matrices(plan_.stages()));
  none_ = division_by(1);
  if (most > 1 && plan_.order_ == BootstrapOrder::slots_first) at_input_ = division_by(most);
}

PreparedBootstrap::Division PreparedBootstrap::division_by(double divisor) const {
  const double each = plan_.matrix_divisor(divisor);
  Division result{.divisor = divisor};
  for (const LinearTransform& transform : plan_.to_coefficients_) {
    if (divisor != 1) result.to_coefficients.emplace_back(context_, scaled(transform, 1 / each));
  }
  const std::vector<int> factors_log2 = plan_.factors_log2_of(divisor);
  for (std::size_t i = 0; i < factors_log2.size(); ++i) {
    result.refinements.push_back(std::make_shared<const Refinement>(
        plan_.input_level_, plan_.fresh_level_ - i, plan_.fresh_level_, factors_log2[i]));
  }
  return result;
}

// Whatever may be wrong is found before the first step.
void PreparedBootstrap::check(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  rlwe::require_filled(in, "bootstrap");
  rlwe::require_same_context(*context_, *in.context, "bootstrap");
  rlwe::require_same_context(*context_, *evaluator.context(), "bootstrap");
  if (in.meta.slots != plan_.slots_) {
    throw MismatchError("bootstrap: a plan for " + std::to_string(plan_.slots_) +
                        " slots and a ciphertext of " + std::to_string(in.meta.slots) +
                        "; make the plan for as many");
  }
  if (in.meta.level < plan_.input_level_) {
    throw LevelError("bootstrap: the ciphertext is at level " + std::to_string(in.meta.level) +
                     ", below the user's lowest, " + std::to_string(plan_.input_level_));
  }
  // From higher levels a rescale leads to the scale.
  const rlwe::ScalePolicy& scales = context_->scales();
  if (in.meta.level == plan_.input_level_ &&
      std::abs(in.meta.scale / scales.level_scale(plan_.input_level_) - 1) > largest_drift) {
    throw ScaleError(
        "bootstrap: the ciphertext's scale 2^" + std::to_string(std::log2(in.meta.scale)) +
        " is not that of its level, 2^" + std::to_string(std::log2(scales.level_scale(plan_.input_level_))) +
        "; bring it there by lower_to_level_inplace, which gives it the level's scale, and not by "
        "drop_to_level_inplace; or bootstrap before the product that takes the last level");
  }
  plan_.require_keys(*context_, evaluator.keys(), plan_.title());
  const std::size_t sums = (in.poly.shape().batch + plan_.together_ - 1) / plan_.together_;
  plan_.require_workspace(*context_, sums, "bootstrap");
}

double PreparedBootstrap::bound_of(const Ciphertext& in) const {
  return std::isfinite(in.meta.largest) ? in.meta.largest : magnitude_.value_or(1);
}

bool PreparedBootstrap::is_divided_at_input(const Ciphertext& in) const {
  const std::size_t level = context_->scales().finished(in.meta).meta.level;
  const double bound = bound_of(in);
  return at_input_ && level <= plan_.input_level_ && bound > 1 && bound <= at_input_->divisor;
}

// A ciphertext of x at a scale S / f is one of x / f at the scale S: the smallest f, or near it, for which
// the bound is at most 1.
double PreparedBootstrap::divisor(const Ciphertext& in) const {
  const double bound = bound_of(in);
  if (!(bound > 1) || plan_.exponential_) return 1;
  const rlwe::ScalePolicy& scales = context_->scales();
  const rlwe::Metadata meta = scales.finished(in.meta).meta;
  const std::size_t level = plan_.input_level_;
  char text[320];
  if (meta.level <= level) {
    if (bound <= largest_as_it_is) return 1;
    std::snprintf(
        text, sizeof(text),
        "bootstrap: values of a magnitude of up to %.6g are declared, and at level %zu, the lowest, "
        "they must be from -1 to %.6g; bootstrap at a higher level, where they are made smaller before "
        "and larger after, prepare the bootstrap for their magnitude (slots first), or declare a smaller "
        "bound",
        bound, level, largest_at_input());
    throw RangeError(text);
  }
  // The factor before the descent divides: a whole number.
  const double whole =
      context_->descent(meta.level, level).quotient.value * (scales.level_scale(level) / meta.scale);
  const double least = std::ceil(bound);
  if (whole / least < least_quotient) {
    std::snprintf(
        text, sizeof(text),
        "bootstrap: values of a magnitude of up to %.6g are declared, and at level %zu they can be "
        "made smaller by a factor of up to %.6g; bootstrap earlier or at a higher level, or declare a "
        "smaller bound",
        bound, meta.level, whole / least_quotient);
    throw RangeError(text);
  }
  double best = least, error = HUGE_VAL;
  for (double factor = least; factor <= 1.25 * least && factor < least + most_factors; ++factor) {
    const double quotient = whole / factor, own = std::abs(std::nearbyint(quotient) / quotient - 1);
    if (own >= error) continue;
    best = factor;
    error = own;
  }
  return best;
}

// The ciphertext at the input level, with its scale, for values divided by the divisor.
Ciphertext PreparedBootstrap::fitted(const ckks::Evaluator& evaluator, const Ciphertext& in,
                                     double divisor) const {
  Ciphertext x = in.clone();
  if (x.size() > 2) evaluator.relinearize_inplace(x);
  const std::size_t level = plan_.input_level_;
  const double scale = context_->scales().level_scale(level);
  if (x.meta.noise_scale_degree > 1 && x.meta.level > level) evaluator.rescale_inplace(x);
  if (x.meta.level > level) {
    const TwoDoubles ratio = TwoDoubles{scale} / x.meta.scale.exact() / TwoDoubles{divisor};
    x.poly = rlwe::descended_by_ratio(*context_, x.poly, x.meta.level, level, ratio);
    x.meta.scale = scale;
  }
  x.seed.reset();
  x.meta.level = level;
  if (x.meta.scale != scale) x.meta.scale = scale;  // a drift of rounding
  x.meta.noise_scale_degree = 1;
  x.meta.largest = std::numeric_limits<double>::infinity();
  return x;
}

Ciphertext PreparedBootstrap::once(const ckks::Evaluator& evaluator, Ciphertext x, const Division& division,
                                   const Engine& engine) const {
  const bool is_own = division.to_coefficients.empty();
  Ciphertext result = engine(std::move(x), is_own ? nullptr : &division.to_coefficients);
  result.meta.slots = plan_.result_slots();  // of merged parts, joined, twice as many that repeat
  if (!is_own) evaluator.multiply_scalar_inplace(result, division.divisor);
  return result;
}

Ciphertext PreparedBootstrap::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  return by(evaluator, in, [&](Ciphertext x, const std::vector<PreparedLinearTransform>* to_coefficients) {
    return (*engine_)(evaluator, std::move(x), to_coefficients);
  });
}

Ciphertext PreparedBootstrap::by(const ckks::Evaluator& evaluator, const Ciphertext& in,
                                 const Engine& engine) const {
  check(evaluator, in);
  const bool at_input = is_divided_at_input(in);
  const double factor = at_input ? 1 : divisor(in);
  Ciphertext result =
      iterated(evaluator, fitted(evaluator, in, factor), at_input ? *at_input_ : none_, engine);
  if (factor != 1) evaluator.multiply_scalar_inplace(result, factor);
  if (plan_.exponential_) {
    rlwe::copy_filling(result.meta, in.meta);
    result.meta.is_complex = true;
    result.meta.largest = std::numeric_limits<double>::infinity();
    result.meta.padding = rlwe::no_longer_zeros(result.meta);  // exp(0) is 1
  } else {
    rlwe::copy_declarations(result.meta, in.meta);
  }
  if (!plan_.joins_parts_ || plan_.from_coefficients()) {
    result.meta.is_complex = false;
    result.meta.filled = 0;  // both halves have values
    result.meta.padding = rlwe::Padding::zeros;
  }
  if (plan_.from_coefficients()) result.meta.largest = std::numeric_limits<double>::infinity();  // of slots
  evaluator.count_bootstrap(in, !magnitude_ && !plan_.gives_parts() && std::isinf(in.meta.largest));
  return result;
}

Ciphertext PreparedBootstrap::iterated(const ckks::Evaluator& evaluator, Ciphertext x,
                                       const Division& division, const Engine& engine) const {
  if (division.refinements.empty()) return once(evaluator, std::move(x), division, engine);
  Ciphertext result = once(evaluator, x.clone(), division, engine);
  if (plan_.real_) {
    // Magnified, imaginary parts of x would be too large for the transforms, and the noise in those of the
    // result is not made smaller. Left are twice the real parts.
    for (Ciphertext* each : {&x, &result}) {
      *each = evaluator.add(*each, evaluator.conjugate(*each));
      each->meta.scale *= 2;
    }
  }
  for (const auto& refinement : division.refinements) {
    result = refinement->sum(result, once(evaluator, refinement->difference(x, result), division, engine));
  }
  return result;
}

}  // namespace hemera::circuits
