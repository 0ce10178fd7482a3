#include "hemera/rlwe/rescaling_policy.hpp"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hemera/rlwe/parameters.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

constexpr int most_fresh_degrees = 2;
constexpr double max_level_scale = 0x1p240;

}  // namespace

std::string name(Scheme scheme) {
  switch (scheme) {
    case Scheme::bfv:
      return "BFV";
    case Scheme::bgv:
      return "BGV";
    case Scheme::ckks:
      return "CKKS";
  }
  throw ParameterError("unknown scheme " + std::to_string(static_cast<int>(scheme)));
}

RescalingPolicy RescalingPolicy::automatic(Scheme scheme) {
  const bool ckks = scheme == Scheme::ckks;
  return {.rescale_by = RescaleBy::evaluator,
          .alignment = ckks ? Alignment::scale_up : Alignment::switch_moduli,
          .degree_of_products = ckks ? DegreeOfProducts::adds : DegreeOfProducts::stays};
}

RescalingPolicy RescalingPolicy::manual(Scheme scheme) {
  return {.rescale_by = RescaleBy::caller,
          .alignment = Alignment::refuse,
          .degree_of_products = scheme == Scheme::ckks ? DegreeOfProducts::adds : DegreeOfProducts::stays};
}

void RescalingPolicy::write(runtime::ByteWriter& out) const {
  out.u8(static_cast<std::uint8_t>(rescale_by));
  out.u8(static_cast<std::uint8_t>(alignment));
  out.u8(static_cast<std::uint8_t>(fresh_degree));
  out.u8(static_cast<std::uint8_t>(least_degree));
  out.u8(static_cast<std::uint8_t>(degree_of_products));
  out.boolean(integers_cost_a_degree);
  out.u32(static_cast<std::uint32_t>(scales.size()));
  for (const LevelScale& level : scales) {
    out.f64(level.scale);
    out.f64(level.product_scale);
    out.f64(level.divisor);
  }
  out.u32(static_cast<std::uint32_t>(factors.size()));
  for (const LevelFactor& level : factors) {
    out.u64(level.factor);
    out.u64(level.product_factor);
  }
}

RescalingPolicy RescalingPolicy::read(runtime::ByteReader& in) {
  RescalingPolicy policy;
  const std::uint8_t rescale_by = in.u8();
  if (rescale_by > static_cast<std::uint8_t>(RescaleBy::evaluator)) {
    in.fail("nobody numbered " + std::to_string(rescale_by) + " rescales");
  }
  policy.rescale_by = static_cast<RescaleBy>(rescale_by);
  const std::uint8_t alignment = in.u8();
  if (alignment > static_cast<std::uint8_t>(Alignment::switch_moduli)) {
    in.fail("unknown alignment " + std::to_string(alignment));
  }
  policy.alignment = static_cast<Alignment>(alignment);
  policy.fresh_degree = in.u8();
  if (policy.fresh_degree < 1 || policy.fresh_degree > most_fresh_degrees) {
    in.fail("fresh encryptions of noise-scale degree " + std::to_string(policy.fresh_degree));
  }
  policy.least_degree = in.boolean() ? 1 : 0;
  const std::uint8_t degrees = in.u8();
  if (degrees > static_cast<std::uint8_t>(DegreeOfProducts::larger_plus_one)) {
    in.fail("unknown rule " + std::to_string(degrees) + " for the degree of products");
  }
  policy.degree_of_products = static_cast<DegreeOfProducts>(degrees);
  policy.integers_cost_a_degree = in.boolean();
  policy.scales.resize(in.count(3 * sizeof(double)));
  for (LevelScale& level : policy.scales) {
    level.scale = in.f64();
    level.product_scale = in.f64();
    level.divisor = in.f64();
  }
  policy.factors.resize(in.count(2 * sizeof(std::uint64_t)));
  for (LevelFactor& level : policy.factors) {
    level.factor = in.u64();
    level.product_factor = in.u64();
  }
  return policy;
}

// Scales by level as format 1 has them: one recursion from the user's highest level down.
void Parameters::fill_rescaling() {
  const RescalingPolicy automatic = RescalingPolicy::automatic(scheme());
  rescaling_ = literal_.rescaling.value_or(automatic);
  const bool ckks = scheme() == Scheme::ckks;
  if (rescaling_.alignment == (ckks ? Alignment::switch_moduli : Alignment::scale_up) &&
      !(scheme() == Scheme::bgv && !rescaling_.factors.empty())) {
    throw ParameterError(name(scheme()) + (ckks ? " does not switch moduli to align operands; scale them up"
                                                : " without factors by level can not scale operands up; "
                                                  "switch their moduli"));
  }
  if (ckks ? !rescaling_.factors.empty() : !rescaling_.scales.empty() && !has_circuit_levels()) {
    throw ParameterError(
        "scales by level are of CKKS and of circuits' levels, factors by level of BGV; these parameters are "
        "of " +
        name(scheme()));
  }
  if (scheme() == Scheme::bfv && !rescaling_.factors.empty()) {
    throw ParameterError("factors by level are of BGV; BFV has none");
  }
  if (rescaling_.fresh_degree < 1 || rescaling_.fresh_degree > most_fresh_degrees ||
      rescaling_.least_degree < 0 || rescaling_.least_degree > 1) {
    throw ParameterError("fresh encryptions have noise-scale degree 1 or 2, and rescaling ends at 0 or 1");
  }
  if (!rescaling_.factors.empty()) {
    if (rescaling_.factors.size() != levels()) {
      throw ParameterError("there are factors for " + std::to_string(rescaling_.factors.size()) + " of " +
                           std::to_string(levels()) + " levels; give them for each");
    }
    for (const LevelFactor& level : rescaling_.factors) {
      for (const std::uint64_t factor : {level.factor, level.product_factor}) {
        if (factor >= plain_modulus() || std::gcd(factor, plain_modulus()) != 1) {
          throw ParameterError("the factor " + std::to_string(factor) + " of a level is no unit modulo " +
                               std::to_string(plain_modulus()));
        }
      }
    }
  }
  if (!ckks) {
    if (!rescaling_.scales.empty()) check_scales();
    rescaling_.scales.clear();  // of the circuit, not of the user's ciphertexts
    return;
  }
  std::vector<LevelScale> derived(levels());
  for (std::size_t level = levels(); level-- > 0;) {
    const bool highest = level >= highest_user_level_;
    const LevelScale& above = highest ? derived[level] : derived[level + 1];
    const double scale = highest ? literal_.scale : above.scale * above.scale / above.divisor;
    derived[level] = {
        .scale = scale, .product_scale = scale * scale, .divisor = level == 0 ? 0 : ratio(level)};
  }
  if (rescaling_.scales.empty() || rescaling_.scales == derived) {
    rescaling_.scales = std::move(derived);
    if (literal_.rescaling) literal_.rescaling->scales.clear();
  } else {
    check_scales();
  }
  if (literal_.rescaling == automatic) literal_.rescaling.reset();
}

void Parameters::check_scales() const {
  if (rescaling_.scales.size() != levels()) {
    throw ParameterError("there are scales for " + std::to_string(rescaling_.scales.size()) + " of " +
                         std::to_string(levels()) + " levels; give them for each");
  }
  for (std::size_t level = 0; level < levels(); ++level) {
    const LevelScale& given = rescaling_.scales[level];
    const auto is_scale = [](double scale) { return scale > 0 && scale <= max_level_scale; };
    if (!is_scale(given.scale) || !is_scale(given.product_scale) ||
        (level != 0 && !(given.divisor > 1 && given.divisor <= max_level_scale))) {
      throw ParameterError("level " + std::to_string(level) +
                           " has a scale or divisor that is not above 0 (1) and at most 2^240");
    }
  }
}

}  // namespace hemera::rlwe
