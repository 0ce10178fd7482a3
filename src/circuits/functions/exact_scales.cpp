#include "circuits/functions/exact_scales.hpp"

#include <cmath>

#include "circuits/functions/function_rows.hpp"
#include "rlwe/exact_quotient.hpp"

namespace hemera::circuits {

using arith::TwoDoubles;

TwoDoubles rescaled(const TwoDoubles& scale, const rlwe::Parameters& parameters, std::size_t level) {
  const auto &above = parameters.literal().levels[level], &below = parameters.literal().levels[level - 1];
  return scale / rlwe::exact_quotient(above, below);
}

void set_exact_scales(std::vector<FunctionStep>& steps, const rlwe::Parameters& parameters,
                      std::size_t inputs, const Ends& input, double input_rest) {
  const rlwe::ScalePolicy scales(parameters);
  const auto exact = [&](Function::Value value, std::size_t level) -> TwoDoubles {
    rlwe::Metadata meta;
    meta.level = value < inputs ? input.level : steps[value - inputs].result_level;
    meta.scale = value < inputs ? input.scale : steps[value - inputs].result_scale;
    const double there = scales.dropped(meta, level).meta.scale;
    if (there != meta.scale) return {there};
    return {there, value < inputs ? input_rest : steps[value - inputs].result_scale_rest};
  };
  // The rest of an exact scale beside its double.
  const auto rest = [](const TwoDoubles& scale, double value) { return (scale.value - value) + scale.rest; };
  for (FunctionStep& step : steps) {
    TwoDoubles scale{step.scale};
    if (!step.products.empty()) {
      const auto& [a, b] = step.products.front();
      scale = exact(a, step.level) * exact(b, step.level) * TwoDoubles{step.doubles_by_scale ? 0.5 : 1};
    } else if (is_lowered(step)) {
      const TwoDoubles before = exact(step.terms.front().value, step.level);
      scale = before * TwoDoubles{std::nearbyint(step.scale / before.value)};
    } else if (!step.rescaled) {
      const Function::Term& first = step.terms.front();
      const TwoDoubles factor = step.is_mapped() ? TwoDoubles{first.factor.front().real(), first.rest}
                                                 : TwoDoubles{std::ldexp(1.0, -step.fraction_bits)};
      scale = exact(first.value, step.level) / factor;
    }
    step.scale_rest = rest(scale, step.scale);
    if (step.rescaled) scale = rescaled(scale, parameters, step.level);
    step.result_scale_rest = rest(scale, step.result_scale);
  }
}

}  // namespace hemera::circuits
