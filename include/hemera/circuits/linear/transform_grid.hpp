// Several matrices times several encrypted vectors (CKKS) at once: rotations are shared.
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/plan.hpp"

namespace hemera::circuits {

struct TransformGridOptions {
  /// Level of the vectors; default: the user's highest. Results are one lower.
  std::optional<std::size_t> level = std::nullopt;
  /// As LinearTransformOptions::own_keys.
  bool own_keys = false;
};

/// A plan: a matrix of blocks, [row, column], each a matrix over the slots, times a column of vectors: result
/// r is the sum over c of block (r, c) times vector c. One column are several transforms of one vector, one
/// row is one transform over several ciphertexts. Each vector is extended once and turned once by each baby
/// step of its column; each row has one set of giant steps, and one division, which rescales. (The steps are
/// those of LinearTransform.) Immutable.
class TransformGrid : public Plan {
 public:
  /// `blocks`: [row, column], with as many columns in each row; a block without diagonals is zero. Throws
  /// - ParameterError for no row or column, rows of different lengths, a row or a column of zeros, and as a
  ///   LinearTransform for slots and diagonals;
  /// - LevelError and MismatchError as a LinearTransform.
  TransformGrid(const rlwe::Parameters& parameters, std::vector<std::vector<MatrixDiagonals>> blocks,
                std::size_t slots, const TransformGridOptions& options = {});

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// The rotations that need a key, ascending.
  [[nodiscard]] std::vector<std::size_t> rotations() const;
  /// The products in the clear, [row, slot]. Throws ParameterError for another number of vectors or values.
  [[nodiscard]] std::vector<std::vector<std::complex<double>>> evaluate_clear(
      std::span<const std::vector<std::complex<double>>> vectors) const;

 private:
  friend class PreparedTransformGrid;

  /// The same plan of a member's rows alone: those whose number is `member` modulo `members`. Columns may be
  /// zero in it.
  [[nodiscard]] TransformGrid part(const TransformShare& share) const;

  struct Block {
    std::size_t row, column;
    LinearTransform transform;
  };

  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  /// As a LinearTransform's: the errors of a row's products, and one rounding of its result.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t rows_, columns_ = 0, slots_;
  std::vector<Block> blocks_;  // by row, then by column
};

/// The same with its plaintexts in a context's memory.
class PreparedTransformGrid {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedTransformGrid(rlwe::ContextPointer context, const TransformGrid& plan)
      : PreparedTransformGrid(std::move(context), plan, {}) {}
  PreparedTransformGrid(PreparedTransformGrid&&) = default;
  PreparedTransformGrid& operator=(PreparedTransformGrid&&) = default;
  PreparedTransformGrid(const PreparedTransformGrid&) = delete;
  PreparedTransformGrid& operator=(const PreparedTransformGrid&) = delete;

  [[nodiscard]] const TransformGrid& plan() const { return plan_; }
  /// The results by row, for each element of the vectors' batch. Throws as a PreparedLinearTransform, and
  /// MismatchError for another number of vectors or batches of different shapes, ScaleError for vectors of
  /// different scales.
  [[nodiscard]] std::vector<rlwe::Ciphertext> operator()(
      const ckks::Evaluator& evaluator, std::span<const rlwe::Ciphertext* const> vectors) const;

 private:
  friend class SharedTransformGrid;

  /// A grid with the rows of a share alone.
  PreparedTransformGrid(rlwe::ContextPointer context, const TransformGrid& plan, const TransformShare& share);

  /// A group of a row's products, by its giant step.
  struct Sum {
    std::size_t row, giant;
    auto operator<=>(const Sum&) const = default;
  };

  [[nodiscard]] rlwe::ExtendedSums inner_sums(std::size_t column, const rlwe::Ciphertext& x,
                                              const PreparedLinearTransform::RotationKeys& keys,
                                              std::span<const Sum> wanted) const;
  [[nodiscard]] std::vector<Sum> sums_of(std::optional<std::size_t> column) const;

  rlwe::ContextPointer context_;
  TransformGrid plan_;                  // of the share
  std::vector<std::size_t> rotations_;  // of all rows
  std::vector<PreparedLinearTransform> blocks_;
};

}  // namespace hemera::circuits
