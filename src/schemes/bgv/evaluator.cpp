#include <algorithm>
#include <cmath>
#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/schemes/bgv.hpp"
#include "schemes/bgv/correction.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::bgv {

using rlwe::Ciphertext;
using rlwe::Context;

Evaluator::Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization, Refresh refresh)
    : integer::Evaluator(integer::rules_of(rlwe::Scheme::bgv), std::move(context), std::move(keys),
                         relinearization, std::move(refresh)) {
  const Context& own = *this->context();
  for (std::size_t level = 0; level <= own.top_level(); ++level) {
    log_moduli_.push_back(own.base(level).log2());
  }
}

rlwe::ScaleWays Evaluator::balanced(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  rlwe::ScaleWays ways = rlwe::Evaluator::balanced(a, b);
  if (a.correction == b.correction) return ways;
  const Multipliers multipliers =
      balance(context()->plain_base().modulus(0), a.correction, b.correction, a.noise_log2, b.noise_log2);
  const auto multiply = [](rlwe::ScaleWay& way, std::int64_t factor) {
    if (factor == 1) return;
    way.steps.push_back({.kind = rlwe::ScaleStep::Kind::multiply,
                         .level = way.meta.level,
                         .degree = way.meta.noise_scale_degree,
                         .correction_factor = factor});
  };
  multiply(ways.a, multipliers.a);
  multiply(ways.b, multipliers.b);
  return ways;
}

std::optional<std::size_t> Evaluator::product_level(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  const Context& own = *context();
  const rlwe::RescalingPolicy& policy = own.scales().policy();
  const bool by_noise = policy.rescale_by == rlwe::RescaleBy::evaluator && policy.factors.empty();
  if (!by_noise || a.noise_log2 == rlwe::unknown_noise || b.noise_log2 == rlwe::unknown_noise) return {};
  const LevelSetting setting{
      .degree = own.degree(),
      .log_moduli = log_moduli_,
      .rounding_log2 = rlwe::rounding_noise_log2(
          own.degree(), own.parameters().literal().secret, 2,
          integer::rules_of(rlwe::Scheme::bgv).switching_half_range(own.parameters().plain_modulus())),
      .switching_log2 = [&](std::size_t level) {
        return rlwe::product_switching_noise_log2(own, *own.gadget(level), level);
      }};
  return multiplication_level(setting, {a.level, a.noise_log2}, {b.level, b.noise_log2});
}

double Evaluator::product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  // A message may have been chosen to make the other operand's noise grow by N t / 2 (docs/noise.md).
  const Context& own = *context();
  const double chosen = 0.5 * std::log2(static_cast<double>(own.degree())) +
                        std::log2(static_cast<double>(own.parameters().plain_modulus())) - 2;
  return bgv::product_noise_log2(own.degree(), std::max(a.noise_log2, chosen),
                                 std::max(b.noise_log2, chosen));
}

}  // namespace hemera::bgv
