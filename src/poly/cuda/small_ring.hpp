// Embeddings of few slots in the ring of the polynomials that they are: those in a power of X.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/queue.hpp"
#include "poly/cuda/embedding/embedding.hpp"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/schedule.hpp"
#include "poly/cuda/tables.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::poly::cuda {

/// The ring of degree n that a ring of degree N has as the polynomials in X^(N/n), with the moduli of that
/// one in its order and the N/n-th powers of its roots, so that values are the same. Any number of threads
/// may call it at once.
class SmallRing {
 public:
  /// Throws ParameterError unless `degree` is a power of two from min_degree to that of the ring.
  SmallRing(const Ring& whole, std::size_t degree, const std::shared_ptr<runtime::Memory>& memory,
            const std::shared_ptr<const runtime::cuda::Streams>& streams, const Choices& choices);

  /// Backend::embed to an output of the whole ring that is stored by fewer entries than `degree`, of slots
  /// numbered by powers of 5. `whole`: where that ring's operations are launched; `base`: of that ring.
  void embed(const Launcher& whole, Arithmetic arithmetic, const PolyView& out, const SlotView& slots,
             double scale, const RnsBase& base, runtime::Workspace& workspace) const;

 private:
  std::shared_ptr<const Ring> ring_;
  LaunchSizes sizes_;
  RingTables tables_;
  Embedding embedding_;
};

}  // namespace hemera::poly::cuda
