#include "hemera/rlwe/noise.hpp"

#include <algorithm>
#include <cmath>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::ckks {

double noise_bound(const rlwe::Context& context, std::size_t depth, double largest, std::size_t terms) {
  if (context.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("noise_bound is of CKKS; a ciphertext of " + rlwe::name(context.scheme()) +
                        " carries its own bound");
  }
  const std::size_t levels =
      context.parameters().highest_user_level() - context.parameters().lowest_user_level();
  if (depth > levels) {
    throw LevelError("noise_bound: a depth of " + std::to_string(depth) + " is more than the " +
                     std::to_string(levels) +
                     " levels that the user has to drop; use parameters of more depth");
  }
  if (largest == 0) largest = context.parameters().literal().largest;
  if (!(largest > 0) || !std::isfinite(largest)) {
    throw ParameterError(
        "noise_bound: needs largest, a bound on the magnitude of all values, unless the parameters declare "
        "one");
  }
  if (terms < 1) throw ParameterError("noise_bound: terms must be at least 1");

  const auto degree = static_cast<double>(context.degree());
  double scale = context.parameters().scale();
  double switching_log2 = 0;
  for (std::size_t level = 0; level <= context.top_level(); ++level) {
    scale = std::min(scale, context.scales().level_scale(level));
    switching_log2 =
        std::max(switching_log2, rlwe::product_switching_noise_log2(context, *context.gadget(level), level));
  }
  // In units of slots: the norm of N coefficients of at most 2^x each, over the scale.
  const auto in_slots = [&](double x) { return std::sqrt(degree) * std::exp2(x) / scale; };
  const double fresh = in_slots(rlwe::fresh_noise_log2(context, true));
  const double switching = in_slots(switching_log2);
  const double rounding =
      in_slots(rlwe::rounding_noise_log2(context.degree(), context.parameters().literal().secret, 2, 0.5));

  double bound = fresh + switching;
  if (depth == 0) bound *= static_cast<double>(terms);
  for (std::size_t i = 0; i < depth; ++i) {
    const double operand = bound + rounding;  // brought to a lower level
    const double product = 2 * largest * operand + std::sqrt(degree / 2) * operand * operand + 2 * switching;
    bound = static_cast<double>(terms) * product + rounding;
  }
  return bound;
}

double coefficient_noise_log2(const rlwe::Context& context, double noise_bound, double scale) {
  // Slots are an isometry of coefficients: N of them have the norm of the slots' errors times the scale.
  return std::log2(noise_bound * scale / std::sqrt(static_cast<double>(context.degree())) + 0.5);
}

}  // namespace hemera::ckks
