// What answers of clear and encrypted databases have in common.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/circuits/search/expansion.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

/// Ciphertexts that are switched at once: bounds scratch, changes no result. Not measured alone.
inline constexpr std::size_t most_switched = 256;

/// Throws MismatchError unless all queries have as many numbers as rows, all keys are of the context, and
/// there is a block.
void require_answerable(const rlwe::Context& context, std::span<const KeyedQuery> queries, std::size_t dims,
                        std::size_t blocks);
/// The error of a query that has no pass.
MismatchError unanswerable(std::size_t query_dims, std::size_t dims, std::size_t blocks);

/// Packs ciphertexts [block, 2 query, limb, N] in coefficient form at the top level, divided down to level 0,
/// to the host's memory: there when the function returns. Throws ParameterError for more bits than
/// most_dropped_bits or another width than 1 to 8, MismatchError for memory of another size.
void pack(const rlwe::Context& context, poly::Poly sums, const Packing& packing, std::span<std::byte> out);

}  // namespace hemera::circuits::search
