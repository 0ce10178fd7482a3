// The common part of answers of clear and encrypted databases.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "hemera/circuits/search/expansion.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

/// Ciphertexts that are switched at once: bounds scratch, changes no result. Not measured alone.
inline constexpr std::size_t most_switched = 256;

/// Throws MismatchError unless all queries have as many numbers as rows, all keys are of the context, there
/// is a block, and each message has a place.
void require_answerable(const rlwe::Context& context, std::span<const KeyedQuery> queries, std::size_t dims,
                        std::size_t blocks, std::size_t places);
/// The error of a query that has no pass.
MismatchError unanswerable(std::size_t query_dims, std::size_t dims, std::size_t blocks);

/// One half of an answer to pack: polynomials [block, query] in coefficient form at level 0.
struct PackedHalf {
  std::size_t blocks, count;
  AnswerHalf out;
  /// Gives the queue what makes these blocks, which are asked for once and in order, and returns where they
  /// are until the next call.
  std::function<poly::ConstPolyView(std::size_t first, std::size_t size)> make;
};
/// Packs halves on the device, and moves and digests them on the host while the device makes later blocks:
/// there when the function returns. Throws ParameterError for more bits than most_dropped_bits or another
/// width than 1 to 8, MismatchError for places of other sizes.
void pack(const rlwe::Context& context, const Packing& packing, std::span<const PackedHalf> halves);

/// Polynomials in coefficient form at the top level, divided down to level 0: in `room`, or where they are if
/// there is no other level.
poly::ConstPolyView at_level_0(const rlwe::Context& context, const poly::ConstPolyView& sums,
                               poly::Poly& room);

/// Packs ciphertexts [block, 2 query, limb, N] in coefficient form at the top level: for each place those of
/// as many queries as `counts` has, in order.
void pack_answers(const rlwe::Context& context, const poly::Poly& sums, const Packing& packing,
                  std::span<const std::size_t> counts, std::span<const AnswerHalves> out);

}  // namespace hemera::circuits::search
