// The checks of the CKKS embedding of every backend.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"

namespace hemera::poly {

/// A power of two in [2^10, 2^17]; ParameterError otherwise.
void check_embedding_degree(std::size_t degree);

/// Plaintexts of one component, and slots, a power of two of at most N/2 (MismatchError); the scale is
/// positive and finite (ScaleError), the generator odd and below 2N (ParameterError).
void check_embedding(const char* operation, const SlotView& slots, const PolyShape& plaintext,
                     std::size_t degree, double scale, std::uint64_t generator);

/// Checks of Backend::exponentials.
void check_exponentials(const SlotView& out, const ConstPolyView& in, const ExponentialLayout& layout,
                        const RnsBase& base);

}  // namespace hemera::poly
