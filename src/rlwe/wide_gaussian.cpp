#include "rlwe/wide_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

constexpr std::uint64_t factor = 8;
constexpr double widest_narrow = 20;  // of poly::ErrorDistribution

std::vector<std::uint64_t> residues(std::uint64_t value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result;
  for (const std::uint64_t modulus : base.values()) result.push_back(value % modulus);
  return result;
}

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
                          std::span<const poly::Seed> seeds, const poly::RnsBase& base) const {
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  const auto layer = [&](const poly::PolyView& to, std::size_t i) {
    for (std::size_t b = 0; b < seeds.size(); ++b) {
      const poly::RandomStream errors{seeds[b], static_cast<std::uint32_t>(i)};
      backend.sample(queue, to.batches(b, 1), errors, poly::Distribution::error(narrow_), base, workspace);
    }
  };
  layer(out, shape_.layers - 1);
  if (shape_.layers == 1) return;
  poly::Poly next =
      context.make_poly(seeds.size(), 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  for (std::size_t i = shape_.layers - 1; i-- > 0;) {
    const bool last = i + 2 == shape_.layers;
    backend.multiply_scalar(queue, out, out, residues(last ? shape_.top_factor : factor, base), base);
    layer(next.view(), i);
    backend.add(queue, out, out, std::as_const(next).view(), base);
  }
}

}  // namespace hemera::rlwe
