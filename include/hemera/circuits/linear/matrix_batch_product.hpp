// Many pairs of encrypted matrices multiplied at once (CKKS).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
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
/// W^d = X^d: a sum of tensor products T + T' s(X) + (V + U s(X)) s(W). The powers of W come from d images:
/// at W = Z^i X, Z = X^(2N/d), s(W) is the secret's image under phi_i: X -> X^(1 + 2N i/d). So the d
/// polynomials V(Z^i X) / d and U(Z^i X) / d are switched from phi_i(s) and phi_i(s) s by one key each, and
/// row r is X^-r times the sum over i of Z^(-ir) times what i became. Both sums are Fourier transforms whose
/// roots are powers of X (Backend::transform_components); the keys are those of rotations by multiples of N /
/// 2d, and of products with such rotations (rlwe/turned_product.hpp). d switches, d divisions, one level.
/// (The layout is that of J. H. Cheon, M. Kang, J. Lee, 2025/1957; products of ciphertexts as products of
/// matrices: J. H. Park, "Ciphertext-ciphertext matrix multiplication", Eurocrypt 2025.) Immutable.
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
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  /// For entries of magnitude 1 in the matrices (not slots): the errors of both factors, noise of the keys,
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
  PreparedMatrixBatchProduct(const rlwe::ContextPointer& context, const MatrixBatchProduct& plan);

  [[nodiscard]] const MatrixBatchProduct& plan() const { return plan_; }
  /// The rows of the products. The factors may be at higher levels, and wait for their rescale. Throws
  /// MissingKeyError; MismatchError for other batches or slots; LevelError for a lower level.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& left,
                                            const rlwe::Ciphertext& right) const;

 private:
  /// [2, component, row]: for 1 and s(X), and for s(W) and s(W) s(X).
  [[nodiscard]] poly::Poly outer_products(const rlwe::Ciphertext& left, const rlwe::Ciphertext& right) const;
  /// The images of V and U under the inverses of phi_i, in place i with its bits reversed: [component, i].
  [[nodiscard]] poly::Poly images(const poly::PolyView& switched) const;
  /// Row r of the switched polynomials, [component, r], over Q u P.
  [[nodiscard]] poly::Poly switched_rows(const poly::Poly& images, const rlwe::EvaluationKeys& keys) const;
  [[nodiscard]] std::uint64_t galois_element(std::size_t i) const;

  rlwe::ContextPointer context_;
  MatrixBatchProduct plan_;
  rlwe::GadgetPointer gadget_;
  poly::Poly roots_;                // Z^k, k < d / 2: [k, 1, limb, N]
  poly::Poly to_images_, to_rows_;  // X^u / d and X^-r: [u, 1, limb, N]
};

}  // namespace hemera::circuits
