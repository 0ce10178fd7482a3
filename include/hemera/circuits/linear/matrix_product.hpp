// Encrypted square matrices times each other (CKKS), each in one ciphertext.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct MatrixProductOptions {
  /// Level of the matrices; default: the user's highest.
  std::optional<std::size_t> level = std::nullopt;
  /// Whether the factors come as `pack` makes them: a level less, and fewer rotations.
  bool packed = false;
};

/// A plan (X. Jiang, M. Kim, K. Lauter, Y. Song, "Secure outsourced matrix computation and application to
/// neural networks", CCS 2018, 2018/1041, section 3): matrices of d rows and columns lie in d^2 slots, row by
/// row. With
///
///     sigma(A)[i, j] = A[i, i + j],    tau(B)[i, j] = B[i + j, j],
///     phi^k(A)[i, j] = A[i, j + k],    psi^k(B)[i, j] = B[i + k, j],    indices modulo d,
///
/// A B is the sum over k of phi^k(sigma(A)) psi^k(tau(B)), slot by slot: d products, relinearized once as a
/// sum. sigma, tau and phi^k are linear transforms of 2d - 1, d and 2 diagonals, psi^k is a rotation. Three
/// levels: sigma, phi^k and the product; two for packed factors. Immutable.
class MatrixProduct : public Plan {
 public:
  /// Throws ParameterError for a size that is no power of two from 2, or whose square is more than N/2;
  /// LevelError for a level that is not the user's, or has fewer user levels below it than the depth;
  /// MismatchError for another scheme than CKKS.
  MatrixProduct(const rlwe::Parameters& parameters, std::size_t size,
                const MatrixProductOptions& options = {});

  /// Rows and columns, d.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// d^2.
  [[nodiscard]] std::size_t slots() const { return size_ * size_; }
  [[nodiscard]] bool is_packed() const { return is_packed_; }
  /// sigma of a left factor [row, column], or tau of a right one, to encrypt for a plan of packed factors.
  /// Throws ParameterError for another number of entries.
  enum class Side : std::uint8_t { left, right };
  [[nodiscard]] std::vector<std::complex<double>> pack(std::span<const std::complex<double>> matrix,
                                                       Side side) const;

  /// The rotations that need a key, ascending; all keys have one gadget.
  [[nodiscard]] std::vector<std::size_t> rotations() const;
  /// The product of matrices in the clear, by the same steps (factors as they are, packed or not). Throws
  /// ParameterError for another number of entries.
  [[nodiscard]] std::vector<std::complex<double>> evaluate_clear(
      std::span<const std::complex<double>> left, std::span<const std::complex<double>> right) const;

 private:
  friend class PreparedMatrixProduct;

  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// For matrices with entries of magnitude 1: errors of the linear transforms, and rounding of the result.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t size_;
  bool is_packed_;
  std::vector<LinearTransform> sigma_, tau_;  // one each, or none
  std::vector<LinearTransform> columns_;      // phi^1, phi^2, ...
  double switching_ = 0;                      // of a key switch, without its division
};

/// The same with its masks in a context's memory.
class PreparedMatrixProduct {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedMatrixProduct(rlwe::ContextPointer context, const MatrixProduct& plan);
  PreparedMatrixProduct(PreparedMatrixProduct&&) = default;
  PreparedMatrixProduct& operator=(PreparedMatrixProduct&&) = default;
  PreparedMatrixProduct(const PreparedMatrixProduct&) = delete;
  PreparedMatrixProduct& operator=(const PreparedMatrixProduct&) = delete;
  ~PreparedMatrixProduct() = default;

  [[nodiscard]] const MatrixProduct& plan() const { return plan_; }
  /// The products, for batches of one shape, or one factor for each of the other's batch. Factors may be at
  /// higher levels, and wait for their rescale; the right one is taken a level below the plan's. Throws
  /// MissingKeyError, which names the missing keys; MismatchError for other slots or batches that do not fit;
  /// LevelError for a left factor below the plan's level, or a right one more than one level below it.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& left,
                                            const rlwe::Ciphertext& right) const;

 private:
  rlwe::ContextPointer context_;
  MatrixProduct plan_;
  std::vector<PreparedLinearTransform> sigma_, tau_, columns_;
};

}  // namespace hemera::circuits
