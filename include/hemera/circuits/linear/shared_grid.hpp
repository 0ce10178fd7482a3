// Several matrices times several encrypted vectors (CKKS) on several devices: the rows are shared out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hemera/circuits/linear/transform_grid.hpp"
#include "hemera/poly/ledger.hpp"
#include "hemera/rlwe/exchange.hpp"

namespace hemera::circuits {

/// The work of a grid over members, counted without values.
struct SharedGridWork {
  std::vector<poly::Ledger::Entries> members;  ///< calls of each
  std::size_t vectors_bytes = 0;               ///< that go to each other member
  std::size_t results_bytes = 0;               ///< of all rows
};

/// A grid over members, contexts of the same parameters: member m has the rows m, m + count, ..., with their
/// plaintexts, and takes the baby steps of the columns that those rows use. Nothing is added up between
/// members, so results have the bits of PreparedTransformGrid.
class SharedTransformGrid {
 public:
  /// Throws ParameterError without members, MismatchError for contexts of other parameters.
  SharedTransformGrid(std::span<const std::shared_ptr<const rlwe::Context>> members,
                      const TransformGrid& plan, const rlwe::ForMembers& each = rlwe::in_turn);
  SharedTransformGrid(SharedTransformGrid&&) = default;
  SharedTransformGrid& operator=(SharedTransformGrid&&) = default;
  SharedTransformGrid(const SharedTransformGrid&) = delete;
  SharedTransformGrid& operator=(const SharedTransformGrid&) = delete;
  ~SharedTransformGrid() = default;

  /// Members that compute: at most as many as there are rows.
  [[nodiscard]] std::size_t members() const { return shares_.size(); }

  /// The results by row, on the first member, of vectors of any contexts of the same parameters.
  /// `evaluators`: of the members that compute, with keys each. Throws as PreparedTransformGrid, and
  /// MismatchError for evaluators of other contexts.
  [[nodiscard]] std::vector<rlwe::Ciphertext> operator()(std::span<const ckks::Evaluator* const> evaluators,
                                                         std::span<const rlwe::Ciphertext* const> vectors,
                                                         const rlwe::ForMembers& each = rlwe::in_turn) const;

  /// Throws ParameterError for no members.
  static SharedGridWork work(const TransformGrid& plan, std::size_t members);

 private:
  std::vector<std::shared_ptr<const rlwe::Context>> contexts_;  // of those that compute
  std::vector<PreparedTransformGrid> shares_;
  std::size_t rows_;
};

}  // namespace hemera::circuits
