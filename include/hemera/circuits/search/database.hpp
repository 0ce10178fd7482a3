// The server's half of a search: the pass over the database.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/circuits/search/blocks.hpp"
#include "hemera/circuits/search/expansion.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits::search {

/// The rest of an answer to one query, besides its a, once all that depends on the query's seed alone is
/// done. It serves one query.
struct PreparedAnswer {
  std::size_t dims = 0;
  Packing packing;
  poly::Poly sums;  // b: [block, 1, limb, N], coefficient form, top level
};

/// Rows of `dims` bytes in blocks of N: for each block and each j the polynomial whose coefficient r is entry
/// j of row r, in evaluation form; and the bytes, for prepared answers. Changes need the caller's lock.
class Database {
 public:
  /// Empty. Throws ParameterError unless 1 <= dims <= N.
  Database(rlwe::ContextPointer context, std::size_t dims);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] const rlwe::ContextPointer& context() const { return context_; }
  [[nodiscard]] std::size_t dims() const { return expansion_.layout().dims; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.count(); }
  /// Bytes in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }

  /// Makes room for this many blocks, or gives back memory. The contents of new blocks are unspecified.
  void resize(std::size_t blocks) { blocks_.resize(blocks); }
  /// Sets a block to these rows, [row, dims], at most N, and zeros after them. Throws ParameterError for more
  /// rows, rows that are not whole, or a block that is not there.
  void set_block(std::size_t block, std::span<const std::int8_t> rows);

  /// Bytes of each half of an answer to this many queries with `width` bytes a number.
  [[nodiscard]] std::size_t half_bytes(std::size_t count, int width) const {
    return blocks() * count * context_->degree() * static_cast<std::size_t>(width);
  }
  /// Scores of all rows: for each block the sum over j of its polynomials times the expanded query; packed on
  /// the device, and written to `out`, of half_bytes each. Throws as Expansion, MismatchError for queries of
  /// other dims, where there is no block or for other bytes, and ParameterError for a packing out of its
  /// range.
  void answer(const Query& query, const rlwe::EvaluationKeys& keys, const Packing& packing,
              const AnswerHalves& out) const {
    answer(std::array{KeyedQuery{query, keys}}, packing, {&out, 1});
  }
  /// The same for queries of several clients in one pass over the blocks, with the same bits for each, and
  /// each to its own place.
  void answer(std::span<const KeyedQuery> queries, const Packing& packing,
              std::span<const AnswerHalves> out) const;
  /// The same as whole numbers.
  [[nodiscard]] Answer answer(const Query& query, const rlwe::EvaluationKeys& keys, int dropped_bits) const {
    Answer whole = empty_answer(*context_, query.count, blocks(), dropped_bits);
    answer(query, keys, {.dropped_bits = dropped_bits}, whole.halves());
    return whole;
  }

  /// The same in two steps, with the same bits, since expansions are linear in (b, a) and keep b's numbers
  /// exactly: first all that takes keys and polynomials, by the seed, and with it the answer's a; then the
  /// products of rows and the query's numbers (poly::Backend::multiply_add_vector), which are added to b. (A.
  /// Henzinger, M. Hong, H. Corrigan-Gibbs, S. Meiklejohn, V. Vaikuntanathan, "One server for the price of
  /// two", 2022/949.) The database must not change in between. Throws as `answer`.
  [[nodiscard]] PreparedAnswer prepare(const poly::RandomStream& seed, const rlwe::EvaluationKeys& keys,
                                       const Packing& packing, const AnswerHalf& a) const;
  /// Throws MismatchError for more than one query, a query of other dims, or an answer prepared for other
  /// blocks; FormatError for a number that is no residue; and for `b` as `answer`.
  void finish(PreparedAnswer prepared, const Query& query, const AnswerHalf& b) const;

 private:
  /// Products of the blocks and expanded queries: [block, 2 query, limb, N], coefficient form, top level.
  [[nodiscard]] poly::Poly products(std::span<const KeyedQuery> queries) const;

  rlwe::ContextPointer context_;
  Expansion expansion_;
  Blocks blocks_;  // of one row: [1, j, limb, N]; and bytes [N, dims rounded up to a multiple of 16]
};

}  // namespace hemera::circuits::search
