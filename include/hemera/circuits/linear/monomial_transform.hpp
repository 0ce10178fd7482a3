// The discrete Fourier transform of polynomials, whose roots of unity are powers of X.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::circuits {

/// Place of output `number` of a transform of `size` places: its bits reversed.
std::size_t reversed(std::size_t number, std::size_t size);

/// out[i] = sum over u < d of Z^(iu) in[u], with Z = X^exponent of order d: in place, over the components of
/// each element of a batch, in evaluation form. Its d / 2 roots are in the context's memory. Immutable.
class MonomialTransform {
 public:
  /// `size`: d, a power of two; d * exponent is a multiple of 2N, and no smaller multiple of the exponent is.
  MonomialTransform(std::shared_ptr<const rlwe::Context> context, const poly::RnsBase& base, std::size_t size,
                    std::size_t exponent);

  /// Output i goes to place reversed(i, d) (decimation in frequency). `values`: [batch, d, limb, N] over
  /// `base`, the first limbs of the transform's base, an element of the batch behind the other; `scratch`:
  /// half as many polynomials, contiguous.
  void apply(const poly::PolyView& values, const poly::PolyView& scratch, const poly::RnsBase& base) const;
  /// The same of inputs u at places reversed(u, d), with outputs in their order (decimation in time).
  void apply_to_reversed(const poly::PolyView& values, const poly::PolyView& scratch,
                         const poly::RnsBase& base) const;

 private:
  struct Stage;
  [[nodiscard]] Stage stage(const poly::PolyView& values, const poly::PolyView& scratch,
                            std::size_t half) const;

  std::shared_ptr<const rlwe::Context> context_;
  poly::Poly roots_;  // [1, d / 2, limb, N]
  std::size_t size_;
};

}  // namespace hemera::circuits
