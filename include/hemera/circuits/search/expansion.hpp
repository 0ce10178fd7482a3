// Encrypted queries to ciphertexts of their numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

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
/// The number of queries of all clients.
std::size_t total(std::span<const KeyedQuery> queries);
/// The number of queries of each client.
std::vector<std::size_t> counts(std::span<const KeyedQuery> queries);

/// Queries of `dims` numbers expanded: for each number a ciphertext of the constant polynomial. The numbers
/// are multiplied by N^-1 modulo Q, then log2 N automorphisms, each added or subtracted, keep one coefficient
/// and multiply it by N. (H. Chen, I. Chillotti, L. Ren, "Onion ring ORAM", 2019/736, algorithm 3; S. Angel,
/// H. Chen, K. Laine, S. Setty, "PIR with compressed queries", 2017/1142.) Immutable.
class Expansion {
 public:
  /// Throws ParameterError unless 1 <= dims <= N.
  Expansion(rlwe::ContextPointer context, std::size_t dims);

  [[nodiscard]] const QueryLayout& layout() const { return layout_; }
  /// [dims * query, 2, limb, N] at the top level, the queries of number 0 first.
  ///
  /// Throws MissingKeyError for a key that is not there, MismatchError for a query without the numbers that
  /// its extents have or of other dims, FormatError for a number that is no residue.
  [[nodiscard]] poly::Poly operator()(const Query& query, const rlwe::EvaluationKeys& keys) const;
  /// The same of the queries of several clients, each by its own keys: those of the first client first.
  /// Throws MismatchError where there is none, too.
  [[nodiscard]] poly::Poly operator()(std::span<const KeyedQuery> queries) const;

 private:
  rlwe::ContextPointer context_;
  QueryLayout layout_;
  std::vector<poly::Poly> turns_;  // of automorphisms that split: X^-power, for power = stride, 2 stride, ...
};

}  // namespace hemera::circuits::search
