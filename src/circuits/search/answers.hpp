// What answers of clear and encrypted databases have in common.
#pragma once

#include <cstddef>

#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::circuits::search {

/// Ciphertexts that are switched at once: bounds scratch, changes no result. Not measured alone.
inline constexpr std::size_t most_switched = 256;

/// Ciphertexts [block, 2 query, limb, N] in coefficient form at the top level, divided down to level 0 and
/// without their numbers' lowest bits. Throws ParameterError for more bits than most_dropped_bits.
Answer rounded(const rlwe::Context& context, poly::Poly sums, std::size_t count, int dropped_bits);

}  // namespace hemera::circuits::search
