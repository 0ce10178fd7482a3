// The server's half of a search: expansion of queries, and the pass over the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/circuits/search/blocks.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits::search {

/// Queries of one client, and its keys. Both outlive the call that they are given to.
struct KeyedQuery {
  const Query& query;
  const rlwe::EvaluationKeys& keys;
};

/// Each number of the queries as a ciphertext of its own, of a constant polynomial: [dims * query, 2, limb,
/// N] at the top level, the queries of number 0 first. The numbers are multiplied by N^-1 modulo Q, then
/// log2 N automorphisms, each added or subtracted, keep one coefficient and multiply it by N. (H. Chen,
/// I. Chillotti, L. Ren, "Onion ring ORAM", 2019/736, algorithm 3; S. Angel, H. Chen, K. Laine, S. Setty,
/// "PIR with compressed queries", 2017/1142.)
///
/// Throws MissingKeyError for a key that is not there, MismatchError for keys of another context or a query
/// without the numbers that its extents have, FormatError for a number that is no residue, ParameterError for
/// dims outside 1 to N.
poly::Poly expand(const std::shared_ptr<const rlwe::Context>& context, const Query& query,
                  const rlwe::EvaluationKeys& keys);
/// The same of the queries of several clients, each by its own keys: those of the first client first. Throws
/// as `expand`, and MismatchError where there is none, or they have different dims.
poly::Poly expand(const std::shared_ptr<const rlwe::Context>& context, std::span<const KeyedQuery> queries);

/// All of an answer to one query that depends on the query's seed alone. It serves one query.
struct PreparedAnswer {
  std::size_t dims = 0;
  poly::Poly sums;  // [block, 2, limb, N], coefficient form, top level
};

/// Rows of `dims` bytes in blocks of N: for each block and each j the polynomial whose coefficient r is entry
/// j of row r, in evaluation form. Changes need the caller's lock.
class Database {
 public:
  /// Empty. Throws ParameterError unless 1 <= dims <= N.
  Database(std::shared_ptr<const rlwe::Context> context, std::size_t dims);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] const std::shared_ptr<const rlwe::Context>& context() const { return context_; }
  [[nodiscard]] std::size_t dims() const { return layout_.dims; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.count(); }
  /// Bytes in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }

  /// Makes room for so many blocks, or gives back memory. The contents of new blocks are unspecified.
  void resize(std::size_t blocks) { blocks_.resize(blocks); }
  /// Sets a block to these rows, [row, dims], at most N, and zeros after them. Throws ParameterError for more
  /// rows, rows that are not whole, or a block that is not there.
  void set_block(std::size_t block, std::span<const std::int8_t> rows);

  /// Scores of all rows: for each block the sum over j of its polynomials times the expanded query. The
  /// answer's numbers keep all bits but the lowest `dropped_bits`. Throws as `expand`, and MismatchError for
  /// queries of other dims, or where there is no block.
  [[nodiscard]] Answer answer(const Query& query, const rlwe::EvaluationKeys& keys, int dropped_bits) const;
  /// The same for queries of several clients in one pass over the blocks, with the same bits for each: those
  /// of the first client first. Throws as `answer` and `expand`.
  [[nodiscard]] Answer answer(std::span<const KeyedQuery> queries, int dropped_bits) const;

  /// The same in two halves, with the same bits, since expansions are linear in (b, a) and keep b's numbers
  /// exactly: first all that takes keys and polynomials, by the seed; then the products of rows and the
  /// query's numbers. (A. Henzinger, M. Hong, H. Corrigan-Gibbs, S. Meiklejohn, V. Vaikuntanathan, "One
  /// server for the price of two", 2022/949.) The database must not change in between.
  [[nodiscard]] PreparedAnswer prepare(const poly::RandomStream& seed,
                                       const rlwe::EvaluationKeys& keys) const;
  /// `rows`: all rows, [row, dims], as they were set. Throws MismatchError for more than one query, a query
  /// of other dims, or rows that are not those of the blocks; FormatError for a number that is no residue.
  [[nodiscard]] Answer finish(PreparedAnswer prepared, const Query& query, std::span<const std::int8_t> rows,
                              int dropped_bits) const;

 private:
  /// Products of the blocks and expanded queries: [block, 2 query, limb, N], coefficient form, top level.
  [[nodiscard]] poly::Poly products(std::span<const KeyedQuery> queries) const;

  std::shared_ptr<const rlwe::Context> context_;
  QueryLayout layout_;
  Blocks blocks_;  // of one row: [1, j, limb, N]
};

}  // namespace hemera::circuits::search
