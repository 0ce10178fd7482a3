// The CKKS canonical embedding on the device (docs/arithmetic-embedding.md), bit for bit as on the CPU.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/queue.hpp"
#include "poly/cuda/embedding/centering.hpp"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/tables.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::poly::cuda {

/// Encodes slots as integer polynomials and decodes them, for one degree N. Any number of threads may call it
/// at once. The first decoding over a base makes its constants and uploads them.
class Embedding {
 public:
  /// Throws ParameterError unless `degree` is a power of two in [2^10, 2^17].
  Embedding(std::size_t degree, std::shared_ptr<runtime::Memory> memory,
            std::shared_ptr<const runtime::cuda::Streams> streams);

  /// As hemera/poly/backend.hpp says, for slots numbered by powers of 5; checked. The time depends on
  /// the words of the largest coefficient * scale of a polynomial, not otherwise on the values.
  void embed(const Launcher& launcher, const PolyView& out, const SlotView& slots, double scale,
             const RnsBase& base, runtime::Workspace& workspace) const;
  /// The same, up to the lazy columns of the transform (see forward_rows).
  void embed_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                     const SlotView& slots, double scale, const RnsBase& base,
                     runtime::Workspace& workspace) const;
  /// Takes the same time for all residues.
  void unembed(const Launcher& launcher, const SlotView& slots, const ConstPolyView& in, double scale,
               const RnsBase& base, runtime::Workspace& workspace, double* largest) const;

 private:
  std::size_t degree_;
  DeviceArray<double2> roots_;  // poly/embedding_tables.hpp
  Centering centering_;
};

}  // namespace hemera::poly::cuda
