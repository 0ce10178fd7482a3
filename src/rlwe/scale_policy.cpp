#include "hemera/rlwe/scale_policy.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/descent.hpp"
#include "rlwe/exact_quotient.hpp"
#include "rlwe/level_table.hpp"
#include "runtime/decimal.hpp"

namespace hemera::rlwe {
namespace {

using Kind = ScaleStep::Kind;

using arith::TwoDoubles;

// Whether residues can be multiplied by it. Scales of files may be anything.
bool is_factor(const TwoDoubles& factor) { return factor.value >= 1 && std::isfinite(factor.value); }

// What doubles leave of scales is followed where values have more bits than doubles. Elsewhere it would say
// nothing but what the roundings of factors do to values.
constexpr double precise_scale = 0x1p60;
// Squares double what a level's scale leaves of the exact one. Beyond this it is an error of values.
constexpr double most_rest = 0x1p-46;

// Product of the primes that `from` has and `to` lacks, modulo t; both sorted.
std::uint64_t product_without(const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to,
                              const arith::Modulus& t) {
  std::uint64_t product = t.reduce(std::uint64_t{1});
  for (const std::uint64_t prime : from) {
    if (!std::binary_search(to.begin(), to.end(), prime)) product = t.multiply(product, t.reduce(prime));
  }
  return product;
}

}  // namespace

ScalePolicy::ScalePolicy(const Parameters& parameters)
    : policy_(parameters.rescaling()),
      lowest_user_level_(parameters.lowest_user_level()),
      highest_user_level_(parameters.highest_user_level()),
      levels_(parameters.literal().levels) {
  for (auto& primes : levels_) std::sort(primes.begin(), primes.end());
  if (is_approximate()) {
    tolerance_ = 0x1p-45 + 8 / parameters.scale();
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const double divisor = policy_.scales[level].divisor;
      // A policy may have its own, which is no quotient of moduli.
      const bool is_quotient = level != 0 && divisor == parameters.ratio(level);
      divisors_.push_back(is_quotient ? exact_quotient(levels_[level], levels_[level - 1])
                                      : TwoDoubles{divisor});
    }
  }
  if (!traits(parameters.scheme()).errors_are_multiples) return;
  plain_.emplace(parameters.plain_modulus());
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    switching_corrections_.push_back(
        level == 0
            ? 1
            : plain_->multiply(product_without(levels_[level - 1], levels_[level], *plain_),
                               arith::inverse(product_without(levels_[level], levels_[level - 1], *plain_),
                                              plain_->value())));
  }
}

double ScalePolicy::level_scale(std::size_t level) const {
  return is_approximate() ? at_level(policy_.scales, level).scale : 1;
}

Scale ScalePolicy::followed(const Scale& scale) const {
  return level_scale(highest_user_level_) > precise_scale ? scale : Scale(double{scale});
}

std::uint64_t ScalePolicy::level_factor(std::size_t level) const {
  return policy_.factors.empty() ? 1 : at_level(policy_.factors, level).factor;
}

bool ScalePolicy::close(double a, double b) const { return std::abs(a / b - 1) <= tolerance_; }

bool ScalePolicy::may_rescale(std::size_t level) const {
  return level > lowest_user_level_ && level <= highest_user_level_;
}

Metadata ScalePolicy::fresh(Metadata meta) const {
  const bool product = policy_.fresh_degree > 1 && meta.level == highest_user_level_;
  meta.noise_scale_degree = product ? 2 : 1;
  if (is_approximate()) {
    const LevelScale& level = policy_.scales.at(meta.level);
    meta.scale = product ? level.product_scale : level.scale;
  } else if (!policy_.factors.empty()) {
    const LevelFactor& level = policy_.factors.at(meta.level);
    meta.correction = product ? level.product_factor : level.factor;
  }
  return meta;
}

Metadata ScalePolicy::rescaled(Metadata meta) const {
  if (meta.level == 0) {
    throw LevelError("rescale: the ciphertext is at level 0, the last one; use parameters of more depth");
  }
  if (is_approximate()) {
    meta.scale /= Scale(divisors_[meta.level]);
    meta.scale = followed(meta.scale);
    // Every square would double what rounding adds to the level's scale, until sums refuse it.
    const double own = level_scale(meta.level - 1);
    if (policy_.alignment == Alignment::scale_up && close(meta.scale, own)) {
      const Scale named = followed(Scale::named(own, meta.scale.exact()));
      meta.scale = std::abs(named.rest()) <= most_rest * own ? named : Scale(own);
    }
  }
  if (plain_) meta.correction = plain_->multiply(meta.correction, switching_corrections_[meta.level]);
  if (policy_.degree_of_products != DegreeOfProducts::stays) {
    meta.noise_scale_degree = std::max(policy_.least_degree, meta.noise_scale_degree - 1);
  }
  --meta.level;
  return meta;
}

Metadata ScalePolicy::after(Metadata meta, const ScaleStep& step) const {
  if (step.kind == Kind::rescale) meta = rescaled(std::move(meta));
  if (step.kind == Kind::descend) {
    meta.scale *= Scale(step.scale_factor / descent_quotient(levels_[meta.level], levels_[step.level]));
    meta.scale = followed(meta.scale);
  }
  if (step.kind == Kind::multiply) {
    meta.scale *= Scale(step.scale_factor);
    meta.scale = followed(meta.scale);
    if (plain_) {
      meta.correction = plain_->multiply(meta.correction, plain_->reduce_signed(step.correction_factor));
    }
  }
  meta.level = step.level;
  meta.noise_scale_degree = step.degree;
  return meta;
}

void ScalePolicy::add(ScaleWay& way, ScaleStep step) const {
  way.meta = after(std::move(way.meta), step);
  way.steps.push_back(step);
}

void ScalePolicy::rescale(ScaleWay& way) const {
  const Metadata next = rescaled(way.meta);
  add(way, {.kind = Kind::rescale, .level = next.level, .degree = next.noise_scale_degree});
}

bool ScalePolicy::waits_for_rescale(const Metadata& meta) const {
  return policy_.rescale_by == RescaleBy::evaluator && meta.noise_scale_degree > 1 &&
         policy_.degree_of_products == DegreeOfProducts::adds && may_rescale(meta.level);
}

bool ScalePolicy::is_part(std::size_t low, std::size_t high) const {
  return std::includes(levels_[high].begin(), levels_[high].end(), levels_[low].begin(), levels_[low].end());
}

void ScalePolicy::drop(ScaleWay& way, std::size_t level) const {
  if (level > way.meta.level) {
    throw LevelError("drop_to_level: the ciphertext is at level " + std::to_string(way.meta.level) +
                     ", below level " + std::to_string(level) + "; levels only go down");
  }
  if (level == way.meta.level) return;
  const int degree = way.meta.noise_scale_degree;
  if (is_part(level, way.meta.level)) {
    add(way, {.kind = Kind::drop_limbs, .level = level, .degree = degree});
    return;
  }
  // The lower base has primes of its own.
  if (is_approximate()) return descend(way, level, way.meta.scale, degree);
  while (way.meta.level > level) rescale(way);
}

void ScalePolicy::descend(ScaleWay& way, std::size_t level, const Scale& scale, int degree) const {
  const TwoDoubles quotient = descent_quotient(levels_[way.meta.level], levels_[level]);
  const TwoDoubles factor = arith::nearest_integer(scale.exact() * quotient / way.meta.scale.exact());
  if (!is_factor(factor)) refuse_factor(way.meta, level, scale);
  add(way, {.kind = Kind::descend, .level = level, .degree = degree, .scale_factor = factor});
}

ScaleWay ScalePolicy::dropped(const Metadata& meta, std::size_t level) const {
  ScaleWay way{.meta = meta};
  if (is_approximate() || !policy_.factors.empty()) {
    drop(way, level);
  } else {
    lower(way, level);
  }
  return way;
}

void ScalePolicy::adjust(ScaleWay& way, std::size_t level, std::optional<Scale> scale) const {
  const Metadata& meta = way.meta;
  const Scale target = scale.value_or(level_scale(level));
  if (level == meta.level && close(meta.scale, target)) return;
  if (level >= meta.level) {
    throw LevelError("adjust_to_level: a ciphertext at level " + std::to_string(meta.level) + " with scale " +
                     power_of_two(std::log2(meta.scale)) + " cannot get the scale " +
                     power_of_two(std::log2(target)) + " at level " + std::to_string(level) +
                     ", because that takes a level");
  }
  if (!is_part(level + 1, meta.level)) return descend(way, level, target, 1);
  drop(way, level + 1);
  const TwoDoubles factor =
      arith::nearest_integer(target.exact() * divisors_[level + 1] / meta.scale.exact());
  if (!is_factor(factor)) refuse_factor(meta, level, target);
  add(way, {.kind = Kind::multiply, .level = level + 1, .degree = 2, .scale_factor = factor});
  add(way, {.kind = Kind::rescale, .level = level, .degree = 1});
}

ScaleWay ScalePolicy::adjusted(const Metadata& meta, std::size_t level, std::optional<Scale> scale) const {
  ScaleWay way{.meta = meta};
  adjust(way, level, scale);
  return way;
}

void ScalePolicy::lower(ScaleWay& way, std::size_t level) const {
  if (policy_.alignment == Alignment::scale_up) {
    if (is_approximate()) {
      // The factor from a product's scale is near 1, so that rounding it would miss the level's scale.
      if (level + 1 < way.meta.level && waits_for_rescale(way.meta)) rescale(way);
      return adjust(way, level, {});
    }
    if (level >= way.meta.level) return drop(way, level);
    // The factor that the rescale turns into the level's.
    drop(way, level + 1);
    Metadata target = way.meta;
    target.noise_scale_degree = 2;
    target.correction = plain_->multiply(policy_.factors[level].factor,
                                         arith::inverse(switching_corrections_[level + 1], plain_->value()));
    match(way, target);
    add(way, {.kind = Kind::rescale, .level = level, .degree = 1});
    return;
  }
  if (is_approximate() || !policy_.factors.empty()) return drop(way, level);
  if (level > way.meta.level) {
    throw LevelError("drop_to_level: the ciphertext is at level " + std::to_string(way.meta.level) +
                     ", below " + std::to_string(level) + "; a level once dropped cannot come back");
  }
  while (way.meta.level > level) rescale(way);
}

ScaleWay ScalePolicy::lowered(const Metadata& meta, std::size_t level) const {
  ScaleWay way{.meta = meta};
  lower(way, level);
  return way;
}

void ScalePolicy::match(ScaleWay& way, const Metadata& target) const {
  ScaleStep step{.kind = Kind::multiply, .level = way.meta.level, .degree = target.noise_scale_degree};
  if (is_approximate()) {
    step.scale_factor = arith::nearest_integer(target.scale.exact() / way.meta.scale.exact());
    if (!is_factor(step.scale_factor)) return;
  } else {
    step.correction_factor = plain_->centered(
        plain_->multiply(target.correction, arith::inverse(way.meta.correction, plain_->value())));
  }
  add(way, step);
}

void ScalePolicy::refuse_factor(const Metadata& a, std::size_t level, double scale) {
  const bool is_large = a.scale > scale;
  throw ScaleError("adjust_to_level: the scale " + power_of_two(std::log2(a.scale)) + " is too " +
                   (is_large ? "large" : "small") + " for that of level " + std::to_string(level) + ", " +
                   power_of_two(std::log2(scale)) + "; " +
                   (is_large ? "rescale first" : "encode at a larger scale"));
}

}  // namespace hemera::rlwe
