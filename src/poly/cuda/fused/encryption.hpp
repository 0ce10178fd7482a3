// Encryption: messages and small integers to masked polynomials in two passes over memory.
#pragma once

#include <cstdint>
#include <span>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/poly/views.hpp"
#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// Columns of the transforms of the centred representatives of factor * in modulo t, times scalars[limb]
/// (none: 1), lazy: the batches of the first input, then those of the next, which has as many. Inputs have
/// one limb, modulo `plain`.
void lift_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  std::span<const ConstPolyView> in, const arith::Modulus& plain, std::uint64_t factor,
                  std::span<const std::uint64_t> scalars, const RnsBase& base);

/// Columns of the transforms of signed words, [batch, component, 1, N], lazy: out is [batch, component, limb,
/// N]. Component 0 is u if `has_mask`; all others are errors, times `factor`. For rings that can_fuse, whose
/// moduli are above all errors.
void small_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                   const ConstPolyView& integers, bool has_mask, std::uint64_t factor, const RnsBase& base);

/// The end of an encryption: a division by `plan`, whose lazy delta is [batch, component, limb].
struct MaskEnd {
  ConstPolyView delta;
  const Division* plan = nullptr;
};

/// Rows of the columns of u and two errors e, and out[c] = key[c] u + factor e[c], divided if there is an
/// `end`, plus `addend` (no data: nothing) in the first component.
void mask_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
               const ConstPolyView& columns, const ConstPolyView& key, const ConstPolyView& addend,
               const RnsBase& base, const MaskEnd* end);

/// Rows of errors' columns e, which component 0 of `out` has, and in their place e - a s + what `addend`
/// adds: all of it, or the terms, of which a limb has one at most. a, component 1 of `out`, is drawn from
/// `uniform`; s is the secret.
void sample_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& secret, const RandomStream& uniform, const ConstPolyView& addend,
                 std::span<const GadgetTerm> terms, const RnsBase& base);

}  // namespace hemera::poly::cuda
