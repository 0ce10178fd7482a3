// What answers of clear and encrypted databases have in common.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/circuits/search/database.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

/// Ciphertexts that are switched at once: bounds scratch, changes no result. Not measured alone.
inline constexpr std::size_t most_switched = 256;

/// The number of queries of all clients.
std::size_t total(std::span<const KeyedQuery> queries);

/// Throws MismatchError unless all queries have as many numbers as rows, all keys are of the context, and
/// there is a block.
void require_answerable(const rlwe::Context& context, std::span<const KeyedQuery> queries, std::size_t dims,
                        std::size_t blocks);

/// The error of a query that has no pass.
MismatchError unanswerable(std::size_t query_dims, std::size_t dims, std::size_t blocks);

/// Ciphertexts [block, 2 query, limb, N] in coefficient form at the top level, divided down to level 0 and
/// without their numbers' lowest bits. Throws ParameterError for more bits than most_dropped_bits.
Answer rounded(const rlwe::Context& context, poly::Poly sums, std::size_t count, int dropped_bits);

}  // namespace hemera::circuits::search
