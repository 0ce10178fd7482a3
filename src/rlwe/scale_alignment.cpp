// How the operands of sums and products come together.
#include <algorithm>
#include <cmath>
#include <string>

#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::rlwe {

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

void ScalePolicy::refuse_scales(const Metadata& a, const Metadata& b) {
  throw ScaleError("add: the operands have scales " + power_of_two(std::log2(a.scale)) + " and " +
                   power_of_two(std::log2(b.scale)) +
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
    throw ScaleError("add: the operands have scales " + power_of_two(std::log2(a.meta.scale)) + " and " +
                     power_of_two(std::log2(b.meta.scale)) + ", and no level is left to adjust them");
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
        "add_plain: the ciphertext has scale " + power_of_two(std::log2(way.meta.scale)) +
        ", the plaintext " + power_of_two(std::log2(plaintext.scale)) +
        "; encode it with the ciphertext's level and scale, " +
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
