// The CKKS canonical embedding on the CPU.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/queue.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::poly::cpu {

/// Encodes slots as integer polynomials and decodes them, for one degree N (docs/arithmetic-embedding.md).
///
/// Slot j of n (a power of two, 1 <= n <= N/2) is the value of the polynomial at zeta^(5^j), zeta = exp(2 pi
/// i / 2N); for n < N/2 the polynomial is one in X^(N / 2n) and its slots repeat with period n. The
/// transforms are a fixed graph of IEEE double operations (J. H. Cheon, A. Kim, M. Kim, Y. Song, "Homomorphic
/// encryption for arithmetic of approximate numbers", ePrint 2016/421, section 3.2), so the result does not
/// depend on the instruction set, the batch or the number of threads. Immutable: any number of threads may
/// call it at once.
class Embedding {
 public:
  /// `isa` is "scalar", "avx2", "avx512" or "neon", or empty for the best one here. Throws DeviceError if it
  /// is unknown or the processor lacks it, ParameterError unless `degree` is a power of two in [2^10, 2^17].
  explicit Embedding(std::size_t degree, const char* isa = "");
  ~Embedding();
  Embedding(const Embedding&) = delete;
  Embedding& operator=(const Embedding&) = delete;

  /// Slots [batch, slot] to the nearest integers (ties to even) of coefficient * scale, exact for every
  /// finite coefficient and positive finite scale; `out` is [batch, 1 component, limb, N] in coefficient form
  /// over `base`, `slots` may be a batch of one for all of them. The slots must be finite and below 2^1000 in
  /// size. The running time depends on the number of bits of the largest coefficient * scale, not otherwise
  /// on the values. Arguments are checked by the backend.
  void embed(runtime::ThreadPool& pool, const PolyView& out, const SlotView& slots, double scale,
             const RnsBase& base, runtime::Workspace& workspace) const;

  /// Residues [batch, 1 component, limb, N] in coefficient form to slots: the integer in (-Q/2, Q/2]
  /// correctly rounded to a double, divided by scale (any positive finite double), transformed; `in` may be a
  /// batch of one for all slot vectors. Centring and rounding take the same time for all residues. Quotients
  /// of 2^1024 and more become infinite.
  void unembed(runtime::ThreadPool& pool, const SlotView& slots, const ConstPolyView& in, double scale,
               const RnsBase& base, runtime::Workspace& workspace, double* largest = nullptr) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace hemera::poly::cpu
