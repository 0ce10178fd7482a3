// Many pairs of encrypted matrices multiplied at once (CKKS).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct MatrixBatchOptions {
  /// Level of the matrices; default: the user's highest. The products are one lower.
  std::optional<std::size_t> level = std::nullopt;
};

/// A plan: Z X for each of N / 2d pairs of d x d matrices. With Y = X^d, a ciphertext holds d polynomials in
/// Y, each of N / 2d slots, one for each pair: Z comes as its d columns, X as its d rows, and so does the
/// product.
///
/// A product's rows, as coefficients of another variable, are R(W) = sum over k of z_k(W) x_k(X) modulo
/// W^d = X^d: a sum of tensor products with components for 1, s(X), s(W) and s(W) s(X). With s(W) = sum over
/// j of s_j(Y) W^j, row r is T_r + W_r s + sum over u of (V_u + U_u s) s_(r-u)(Y) (with a factor Y where u >
/// r). So the digits of the 2d polynomials U_u and V_u are extended once, and a row is one sum of their
/// products with the 2d keys of s_j(X^d) and s_j(X^d) s, divided once. No rotations, no transposes. (The
/// layout is that of J. H. Cheon, M. Kang, J. Lee, 2025/1957; products of ciphertexts as products of
/// matrices: J. H. Park, "Ciphertext-ciphertext matrix multiplication", Eurocrypt 2025.) One level.
/// Immutable.
class MatrixBatchProduct : public Plan {
 public:
  enum class Side : std::uint8_t { left, right };

  /// `size`: d, a power of two from 2 to N/64. Throws ParameterError for others; LevelError for a level that
  /// is not the user's, or the lowest of those; MismatchError for another scheme than CKKS.
  MatrixBatchProduct(const rlwe::Parameters& parameters, std::size_t size,
                     const MatrixBatchOptions& options = {});

  /// Rows and columns, d: the elements of each factor's batch.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// N / 2d.
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  /// The values to encrypt, [ciphertext, slot] of N/2 slots, for matrices [pair, row, column]: by columns for
  /// a left factor, by rows for a right one. Throws ParameterError for another number of entries.
  [[nodiscard]] std::vector<std::complex<double>> pack(std::span<const std::complex<double>> matrices,
                                                       Side side) const;
  /// The reverse: products come as right factors do.
  [[nodiscard]] std::vector<std::complex<double>> unpack(std::span<const std::complex<double>> values,
                                                         Side side) const;

 private:
  friend class PreparedMatrixBatchProduct;

  /// The gadget of all keys: over the level's primes alone.
  [[nodiscard]] const rlwe::GadgetPrimes& gadget() const { return gadget_; }
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const std::shared_ptr<const rlwe::Context>& context) const override;
  /// Of entries of magnitude 1 in the matrices (not of slots): the errors of both factors, noise of the keys,
  /// rounding of the result.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t size_, pairs_;
  rlwe::GadgetPrimes gadget_;
  double switching_ = 0;  // of a key switch, without its division
};

/// The same with its monomials in a context's memory.
class PreparedMatrixBatchProduct {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedMatrixBatchProduct(const std::shared_ptr<const rlwe::Context>& context,
                             const MatrixBatchProduct& plan);

  [[nodiscard]] const MatrixBatchProduct& plan() const { return plan_; }
  /// The rows of the products. The factors may be at higher levels, and wait for their rescale. Throws
  /// MissingKeyError; MismatchError for other batches or slots; LevelError for a lower level.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& left,
                                            const rlwe::Ciphertext& right) const;

 private:
  struct Sums;
  /// U, V and W, T, as batches of ciphertexts of two components.
  [[nodiscard]] Sums outer_products(const rlwe::Ciphertext& left, const rlwe::Ciphertext& right) const;
  /// The keys' digits in the order of the sums, last index first.
  [[nodiscard]] poly::Poly ordered_keys(const rlwe::EvaluationKeys& keys) const;

  std::shared_ptr<const rlwe::Context> context_;
  MatrixBatchProduct plan_;
  std::shared_ptr<const rlwe::Gadget> gadget_;
  poly::Poly wrap_;  // X^d over the extended base
};

}  // namespace hemera::circuits
