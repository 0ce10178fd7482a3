// Products in the ring Z_q[X]/(X^N + 1) by a method other than the backend's own transforms.
#pragma once

#include <string_view>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {

/// Multiplies polynomials that are given by their coefficients. The engines are in
/// hemera/multiply/engines.hpp; a context takes one in place of its backend's transforms. Every engine gives
/// the same bits. Works on host memory; any number of threads may use one engine at once.
class RingMultiplier {
 public:
  RingMultiplier() = default;
  RingMultiplier(const RingMultiplier&) = delete;
  RingMultiplier& operator=(const RingMultiplier&) = delete;
  virtual ~RingMultiplier() = default;

  /// "dgt", "kronecker_ss", "ntt" or "schoolbook".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// out[c] = sum over i + j = c of a[i] * b[j] modulo X^N + 1 and modulo each modulus of `base`: with one
  /// component each, a product.
  /// - Views: [batch, component, limb, N], canonical residues in coefficient form.
  /// - `out`: components a + b - 1; neither input.
  /// - A batch of 1 broadcasts.
  ///
  /// Throws MismatchError for other shapes, ParameterError for a modulus that the engine can not use.
  virtual void tensor_product(runtime::Queue& queue, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base) const = 0;
};

}  // namespace hemera::poly
