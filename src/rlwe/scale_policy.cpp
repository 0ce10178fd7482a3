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

std::string scale_text(double scale) { return "2^" + decimal(std::log2(scale)); }

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
                     scale_text(meta.scale) + " cannot get the scale " + scale_text(target) + " at level " +
                     std::to_string(level) + ", because that takes a level");
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

bool ScalePolicy::is_aligned(const Metadata& a, const Metadata& b) const {
  if (a.level != b.level) return false;
  if (is_approximate()) return close(a.scale, b.scale);
  // With factors by level, the degree decides the factor's degree, even if those of two degrees are equal.
  return a.correction == b.correction &&
         (policy_.factors.empty() || policy_.alignment != Alignment::scale_up ||
          a.noise_scale_degree == b.noise_scale_degree);
}

void ScalePolicy::refuse_levels(const Metadata& a, const Metadata& b, const char* operation) const {
  const std::string levels = std::string(operation) + ": the operands are at levels " +
                             std::to_string(a.level) + " and " + std::to_string(b.level);
  if (!is_approximate()) {
    throw LevelError(levels +
                     ", and these parameters leave levels to the caller; bring both to one level first");
  }
  throw MismatchError(levels + "; drop the higher one to the lower level, or use automatic rescaling");
}

void ScalePolicy::refuse_factor(const Metadata& a, std::size_t level, double scale) {
  const bool is_large = a.scale > scale;
  throw ScaleError("adjust_to_level: the scale " + scale_text(a.scale) + " is too " +
                   (is_large ? "large" : "small") + " for that of level " + std::to_string(level) + ", " +
                   scale_text(scale) + "; " + (is_large ? "rescale first" : "encode at a larger scale"));
}

void ScalePolicy::refuse_scales(const Metadata& a, const Metadata& b) {
  throw ScaleError("add: the operands have scales " + scale_text(a.scale) + " and " + scale_text(b.scale) +
                   "; rescale or scale one of them, or use automatic rescaling");
}

// Takes both to one level and noise-scale degree: the lower operand's, at equal levels the higher degree.
void ScalePolicy::align_by_scaling(ScaleWay& a, ScaleWay& b) const {
  const bool a_is_high =
      a.meta.level > b.meta.level ||
      (a.meta.level == b.meta.level && a.meta.noise_scale_degree < b.meta.noise_scale_degree);
  ScaleWay& high = a_is_high ? a : b;
  ScaleWay& low = a_is_high ? b : a;
  if (high.meta.level > low.meta.level && waits_for_rescale(high.meta)) rescale(high);
  if (low.meta.noise_scale_degree > high.meta.noise_scale_degree) {
    drop(high, low.meta.level);
    match(high, low.meta);
  } else if (high.meta.level > low.meta.level) {
    const std::size_t level = low.meta.level;
    if (low.meta.scale.rest() != 0 && close(low.meta.scale, level_scale(level))) {
      adjust(high, level, low.meta.scale);
    } else {
      lower(high, level);
    }
  }
  if (is_aligned(a.meta, b.meta)) return;
  if (!is_approximate()) {
    throw ScaleError("add: the operands have correction factors " + std::to_string(a.meta.correction) +
                     " and " + std::to_string(b.meta.correction) +
                     ", which are not those of their level; they come from another policy");
  }
  // Scales that the caller chose: one level lower both can have the scale of the level.
  for (ScaleWay* way : {&a, &b}) {
    if (waits_for_rescale(way->meta)) rescale(*way);
  }
  const std::size_t level = std::min(a.meta.level, b.meta.level);
  if (!may_rescale(level)) {
    throw ScaleError("add: the operands have scales " + scale_text(a.meta.scale) + " and " +
                     scale_text(b.meta.scale) + ", and no level is left to adjust them");
  }
  adjust(a, level - 1, {});
  adjust(b, level - 1, {});
}

ScaleWays ScalePolicy::aligned(const Metadata& a, const Metadata& b) const {
  ScaleWays ways{.a = {.meta = a}, .b = {.meta = b}};
  if (is_aligned(a, b)) return ways;
  const std::size_t level = std::min(a.level, b.level);
  switch (policy_.alignment) {
    case Alignment::refuse:
      if (a.level != b.level) refuse_levels(a, b, "add");
      if (is_approximate()) refuse_scales(a, b);
      break;
    case Alignment::drop_limbs:
      lower(ways.a, level);
      lower(ways.b, level);
      if (is_approximate() && !is_aligned(ways.a.meta, ways.b.meta)) refuse_scales(a, b);
      break;
    case Alignment::scale_up:
      align_by_scaling(ways.a, ways.b);
      break;
    case Alignment::switch_moduli:
      lower(ways.a, level);
      lower(ways.b, level);
      break;
  }
  return ways;
}

int ScalePolicy::product_degree(int a, int b) const {
  switch (policy_.degree_of_products) {
    case DegreeOfProducts::stays:
      return a;
    case DegreeOfProducts::adds:
      return a + b;
    case DegreeOfProducts::larger_plus_one:
      return std::max(a, b) + 1;
  }
  return a;
}

int ScalePolicy::plain_product_degree(int degree) const {
  return policy_.degree_of_products == DegreeOfProducts::adds ? degree + 1 : degree;
}

ScaleProduct ScalePolicy::product(const Metadata& a, const Metadata& b,
                                  std::optional<std::size_t> level) const {
  ScaleProduct result{.a = before_product(a), .b = before_product(b), .meta = {}};
  ScaleWay& x = result.a;
  ScaleWay& y = result.b;
  if (policy_.alignment == Alignment::refuse) {
    if (x.meta.level != y.meta.level) refuse_levels(a, b, "multiply");
  } else {
    const std::size_t lower_one = level.value_or(std::min(x.meta.level, y.meta.level));
    if (x.meta.level != lower_one) lower(x, lower_one);
    if (y.meta.level != lower_one) lower(y, lower_one);
  }
  result.meta = x.meta;
  result.meta.scale *= y.meta.scale;
  result.meta.scale = followed(result.meta.scale);
  result.meta.largest = largest_product(x.meta.largest, y.meta.largest);
  if (plain_) result.meta.correction = plain_->multiply(x.meta.correction, y.meta.correction);
  result.meta.noise_scale_degree = product_degree(x.meta.noise_scale_degree, y.meta.noise_scale_degree);
  return result;
}

ScaleWay ScalePolicy::before_product(const Metadata& a) const {
  ScaleWay way{.meta = a};
  if (waits_for_rescale(a)) rescale(way);
  return way;
}

Metadata ScalePolicy::number_product(Metadata a, double scale) const {
  a.scale *= Scale(scale);
  a.scale = followed(a.scale);
  a.noise_scale_degree = plain_product_degree(a.noise_scale_degree);
  return a;
}

ScaleWay ScalePolicy::finished(const Metadata& a) const {
  ScaleWay way{.meta = a};
  if (a.noise_scale_degree > 1 && may_rescale(a.level) &&
      policy_.degree_of_products == DegreeOfProducts::adds) {
    rescale(way);
  }
  return way;
}

ScaleProduct ScalePolicy::plain_product(const Metadata& a, const Metadata& plaintext) const {
  ScaleProduct result{.a = before_product(a), .b = {.meta = plaintext}, .meta = {}};
  ScaleWay& x = result.a;
  if (is_approximate()) {
    if (plaintext.level < x.meta.level) {
      if (policy_.alignment == Alignment::refuse) {
        throw MismatchError("multiply_plain: the plaintext is at level " + std::to_string(plaintext.level) +
                            ", below the ciphertext's level " + std::to_string(x.meta.level) +
                            "; encode it at the ciphertext's level");
      }
      lower(x, plaintext.level);
    }
    result.b.meta.level = x.meta.level;
    result.meta = x.meta;
    result.meta.scale *= plaintext.scale;
    result.meta.scale = followed(result.meta.scale);
    result.meta.largest = largest_product(x.meta.largest, plaintext.largest);
  } else {
    result.meta = x.meta;
    if (plain_) result.meta.correction = plain_->multiply(x.meta.correction, level_factor(x.meta.level));
  }
  result.meta.noise_scale_degree = plain_product_degree(x.meta.noise_scale_degree);
  return result;
}

PlainSum ScalePolicy::plain_sum(const Metadata& a, const Metadata& plaintext) const {
  PlainSum sum{.a = {.meta = a}};
  ScaleWay& way = sum.a;
  if (!is_approximate()) return sum;
  if (plaintext.level < a.level) {
    if (policy_.alignment == Alignment::refuse) {
      throw MismatchError("add_plain: the plaintext is at level " + std::to_string(plaintext.level) +
                          ", below the ciphertext's level " + std::to_string(a.level) +
                          "; encode it at the ciphertext's level");
    }
    if (waits_for_rescale(a)) rescale(way);
    if (plaintext.level < way.meta.level) lower(way, plaintext.level);
  }
  if (close(way.meta.scale, plaintext.scale)) return sum;
  sum.factor = std::round(way.meta.scale / plaintext.scale);
  if (policy_.alignment == Alignment::refuse || !(sum.factor > 1) || !std::isfinite(sum.factor) ||
      !close(way.meta.scale, plaintext.scale * sum.factor)) {
    throw ScaleError(
        "add_plain: the ciphertext has scale " + scale_text(way.meta.scale) + ", the plaintext " +
        scale_text(plaintext.scale) + "; encode it with the ciphertext's level and scale, " +
        Message(WayOut::encoding_like_operand, "encode(values, {}, y.meta.level, y.meta.scale)") +
        ", or rescale the ciphertext first");
  }
  return sum;
}

PlainOperand ScalePolicy::operand_of_product(const Metadata& a) const {
  const std::size_t level = before_product(a).meta.level;
  return {.level = level, .scale = level_scale(level)};
}

PlainOperand ScalePolicy::operand_of_sum(const Metadata& a) const {
  return {.level = a.level, .scale = a.scale};
}

}  // namespace hemera::rlwe
