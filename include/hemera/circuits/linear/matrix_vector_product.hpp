// Encrypted matrices times encrypted vectors (CKKS), by their diagonals.
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct MatrixVectorOptions {
  /// Level of the matrix and the vectors; default: the user's highest. The product is one lower.
  std::optional<std::size_t> level = std::nullopt;
  /// Rotations of the vector that share one ModUp; a power of two. 0: the number that costs least.
  std::size_t baby_steps = 0;
  /// As SlotCircuitOptions::own_keys.
  bool own_keys = false;
};

/// A plan: a matrix of R rows and C columns, both filled up with zeros to powers of two, is packed into
/// min(R, C) diagonals of max(R, C) entries, d_j[k] = M[k mod R, (k + j) mod C], and encrypted as a batch of
/// them. The product is sum over j of d_j rot_j(x), with baby and giant steps; giant steps turn sums of
/// products back, so the diagonals are packed turned forth. Where R < C it ends with a sum over the slots R
/// apart (diagonals: S. Halevi, V. Shoup, "Algorithms in HElib", 2014/106; of wide matrices: C. Juvekar, V.
/// Vaikuntanathan, A. Chandrakasan, "GAZELLE", 2018/073). One level. Immutable.
class MatrixVectorProduct : public Plan {
 public:
  /// Throws ParameterError for no row or column, more of them than slots, or baby steps that are no power of
  /// two; LevelError for a level that is not the user's, or the lowest of those; MismatchError for another
  /// scheme than CKKS.
  MatrixVectorProduct(const rlwe::Parameters& parameters, std::size_t rows, std::size_t columns,
                      const MatrixVectorOptions& options = {});

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Number of diagonals: the elements of the encrypted matrix's batch.
  [[nodiscard]] std::size_t diagonals() const { return diagonals_; }
  /// Slots of the matrix's diagonals, of vectors and of products.
  [[nodiscard]] std::size_t matrix_slots() const { return slots_; }
  [[nodiscard]] std::size_t vector_slots() const { return vector_slots_; }
  [[nodiscard]] std::size_t result_slots() const { return result_slots_; }
  /// The values to encrypt for a dense matrix [row, column], as [diagonal, slot]. Throws ParameterError for
  /// another number of entries.
  [[nodiscard]] std::vector<std::complex<double>> pack(std::span<const std::complex<double>> matrix) const;

  /// The rotations that need a key, ascending. Other keys that serve the level do, here and for products.
  [[nodiscard]] std::vector<std::size_t> rotations() const;
  /// The product of a dense matrix in the clear, by the same diagonals: as many values as rows. Throws
  /// ParameterError for another number of entries or values.
  [[nodiscard]] std::vector<std::complex<double>> evaluate_clear(
      std::span<const std::complex<double>> matrix, std::span<const std::complex<double>> vector) const;

 private:
  friend class PreparedMatrixVectorProduct;

  /// Rotations at the level of the product, but for that by 0.
  [[nodiscard]] std::set<std::size_t> turns() const;
  void choose_steps(const rlwe::Parameters& parameters, std::size_t baby_steps);
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// For entries and values of magnitude 1: errors of both factors, rotations' noise, the result's rounding.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t rows_, columns_;
  std::size_t vector_slots_ = 1, result_slots_ = 1, slots_ = 1, diagonals_ = 1;
  std::size_t baby_steps_ = 1;
  bool own_keys_;
  std::optional<SlotCircuit> fold_;  // the sum at the end
  double switching_ = 0;             // of a key switch, without its division
};

/// The same in a context.
class PreparedMatrixVectorProduct {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedMatrixVectorProduct(rlwe::ContextPointer context, const MatrixVectorProduct& plan);

  [[nodiscard]] const MatrixVectorProduct& plan() const { return plan_; }
  /// The product with each vector of the batch. The matrix is a row of its encrypted diagonals (`pack`); both
  /// may be at higher levels, and wait for their rescale. Throws MissingKeyError, which names the missing
  /// keys; MismatchError for other slots or another number of diagonals; LevelError for a lower level.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& matrix,
                                            const rlwe::Ciphertext& vector) const;

 private:
  rlwe::ContextPointer context_;
  MatrixVectorProduct plan_;
  std::optional<PreparedSlotCircuit> fold_;
};

}  // namespace hemera::circuits
