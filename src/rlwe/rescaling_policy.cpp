#include "hemera/rlwe/rescaling_policy.hpp"

#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

constexpr int most_fresh_degrees = 2;

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

}  // namespace hemera::rlwe
