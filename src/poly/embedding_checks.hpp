// What the CKKS embedding of every backend checks.
#pragma once

#include <cstddef>

#include "hemera/poly/backend.hpp"

namespace hemera::poly {

/// A power of two in [2^10, 2^17]; ParameterError otherwise.
void check_embedding_degree(std::size_t degree);

/// Shapes fit each other and the base, the slots are a power of two of at most N/2 (MismatchError), the scale
/// is positive and finite (ScaleError).
void check_embed(std::size_t degree, const PolyShape& out, const SlotView& slots, double scale,
                 const RnsBase& base);
void check_unembed(std::size_t degree, const SlotView& slots, const PolyShape& in, double scale,
                   const RnsBase& base);

}  // namespace hemera::poly
