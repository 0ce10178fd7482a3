// Discrete Gaussians of any width, put together from narrow ones (docs/randomness.md, "Wide Gaussians").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// g_0 + a (g_1 + a (... + a (g_(k-2) + c g_(k-1)))) with independent narrow Gaussians g_i, a = 8 and 1 <= c
/// <= a: close to the discrete Gaussian of deviation `sigma`.
class WideGaussian {
 public:
  /// 1 <= sigma <= 2^240; ParameterError otherwise.
  explicit WideGaussian(double sigma);

  [[nodiscard]] const poly::ErrorDistribution& narrow() const { return narrow_; }
  /// k and c.
  [[nodiscard]] std::size_t layers() const { return shape_.layers; }
  [[nodiscard]] std::uint64_t top_factor() const { return shape_.top_factor; }

  /// Fills `out`, [seed, 1, limb of base, N], in coefficient form, or adds to it: g_i is polynomial i of the
  /// seed's errors. Takes the same time for all of them; what is in between is secret, and zeroed.
  void sample(const Context& context, const poly::PolyView& out, std::span<const poly::Seed> seeds,
              const poly::RnsBase& base, bool adds = false) const;

 private:
  struct Shape {
    std::size_t layers;
    std::uint64_t top_factor;
    double factor;  // the sum's deviation, of narrow deviation 1
  };
  static Shape shape_for(double sigma);

  Shape shape_;
  poly::ErrorDistribution narrow_;
};

}  // namespace hemera::rlwe
