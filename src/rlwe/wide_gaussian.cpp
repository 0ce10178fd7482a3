#include "rlwe/wide_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

constexpr std::uint64_t factor = 8;
constexpr double widest_narrow = 20;  // of poly::ErrorDistribution

// Layers that are drawn before they are summed: with the sum so far, the terms of one kernel of a device.
constexpr std::size_t layers_at_once = 5;

}  // namespace

WideGaussian::Shape WideGaussian::shape_for(double sigma) {
  if (!(sigma >= 1 && sigma <= 0x1p240)) {
    throw ParameterError("a Gaussian of deviation " + std::to_string(sigma) +
                         " is outside 1 to 2^240; use a smaller scale or noise bound");
  }
  // The fewest layers that reach it, then the smallest factor of the last one: the narrow deviation is above
  // 20 / sqrt(5/2).
  double below = 1;  // 1 + a^2 + ... of the layers before the last
  double step = 1;   // a^(k-2)
  if (sigma <= widest_narrow) return {1, 1, 1};
  for (std::size_t layers = 2;; ++layers) {
    for (std::uint64_t top = 1; top <= factor; ++top) {
      const double last = static_cast<double>(top) * step;
      const double all = std::sqrt(below + last * last);
      if (widest_narrow * all >= sigma) return {layers, top, all};
    }
    step *= static_cast<double>(factor);
    below += step * step;
  }
}

WideGaussian::WideGaussian(double sigma)
    : shape_(shape_for(sigma)), narrow_(std::min(sigma / shape_.factor, widest_narrow)) {}

void WideGaussian::sample(const Context& context, const poly::PolyView& out,
                          std::span<const poly::Seed> seeds, const poly::RnsBase& base, bool adds) const {
  const poly::Backend& backend = context.backend();
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  const std::size_t most = std::min(shape_.layers, layers_at_once);
  poly::Poly drawn =
      context.make_poly(seeds.size(), most, base, poly::Form::coefficient, runtime::Secrecy::secret);
  std::vector<std::uint64_t> power(base.size(), 1);  // of a, for the next layer
  for (std::size_t first = 0; first < shape_.layers; first += most) {
    const std::size_t count = std::min(most, shape_.layers - first);
    std::vector<poly::RandomStream> streams;
    for (const poly::Seed& seed : seeds) streams.push_back({seed, static_cast<std::uint32_t>(first)});
    const poly::PolyView layers = drawn.view().components(0, count);
    backend.sample(context.queue(), layers, streams, poly::Distribution::error(narrow_), base, workspace);
    std::vector<poly::ConstPolyView> terms(adds || first > 0 ? 1 : 0, out);
    std::vector<std::vector<std::uint64_t>> weights(terms.size(), std::vector<std::uint64_t>(base.size(), 1));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t step = first + i + 2 == shape_.layers ? shape_.top_factor : factor;
      terms.emplace_back(layers.components(i, 1));
      weights.push_back(power);
      for (std::size_t j = 0; j < base.size(); ++j) {
        const arith::Modulus& q = base.modulus(j);
        power[j] = q.multiply(power[j], q.reduce(step));
      }
    }
    backend.combine(context.queue(), out, terms, weights, {}, base, workspace);
  }
}

}  // namespace hemera::rlwe
