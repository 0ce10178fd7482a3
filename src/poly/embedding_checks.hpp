// What the CKKS embedding of every backend checks.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// `embedded` has all N/2 slots, `slots` a power of two of at most as many, in equally large batches
/// (MismatchError); the generator is odd and below 2N (ParameterError).
void check_slot_order(const char* operation, std::size_t degree, const SlotView& embedded,
                      const SlotView& slots, std::uint64_t generator);

}  // namespace hemera::poly
