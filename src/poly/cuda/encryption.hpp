// Encryption with a public key: small integers to masked polynomials in two passes over memory.
#pragma once

#include <cstdint>

#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// Columns of the transforms of u and of factor e[c], lazy: `integers` are u, e[0] and e[1] as signed words,
/// [batch, 3, 1, N], out is [batch, 3, limb, N]. For rings that can_fuse, whose moduli are above all errors.
void mask_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& integers, std::uint64_t factor, const RnsBase& base);

/// What ends an encryption: a division by `plan`, whose lazy delta is [batch, component, limb].
struct MaskEnd {
  ConstPolyView delta;
  const Division* plan = nullptr;
};

/// Rows of mask_columns' output, and out[c] = key[c] u + factor e[c], divided if there is an `end`, plus
/// `addend` (no data: nothing) in the first component.
void mask_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
               const ConstPolyView& columns, const ConstPolyView& key, const ConstPolyView& addend,
               const RnsBase& base, const MaskEnd* end);

}  // namespace hemera::poly::cuda
