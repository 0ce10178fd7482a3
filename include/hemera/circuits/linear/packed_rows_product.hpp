// Matrices in the clear times encrypted matrices of few columns, several rows to a ciphertext (CKKS).
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/linear/plain_matrix_product.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct PackedRowsOptions {
  /// Level of the ciphertexts; default: the user's highest. The product is one lower.
  std::optional<std::size_t> level = std::nullopt;
  /// Bits that the largest weight is rounded to, sign included: 8 or 16.
  int bits = 16;
};

/// A plan: Y = W X with W of rows x columns in the clear, and X with few columns ("vectors"), encrypted. With
/// R parts and Y = X^R a ciphertext is the sum of X^r f_r(Y), r < R, where f_r has the N / 2R slots of a row:
/// row g R + r of X is in ciphertext g, and so are the rows of the product.
///
/// X^-r times ciphertext g has row g R + r as its part 0, so W meets these k ciphertexts as
/// PlainMatrixProduct does, without a key. The parts a_(r,u)(Y) of row r's a meet parts s_v(Y) of the secret,
/// u + v = 0 modulo R, in part 0 of its phase; so with P_u the sum over R rows of X^r a_(r,u)(Y) (and a
/// factor Y where u > 0) the product has sum over u of P_u s_-u(X^R): R key products summed over Q P, divided
/// once. The P_u come from the rows by two transforms whose roots are monomials: with Z = X^(2N/R) and the
/// automorphisms t_j: X -> X Z^j, R P_u = X^-u sum over j of Z^(-ju) t_j(sum over r of Z^(-jr) X^r a_r).
/// (Products modulo primes: Y. Bae, J. H. Cheon, G. Hanrot, J. H. Park, D. Stehle, 2024/1284. A key for each
/// part of the secret is the plain form of packing as in H. Chen, W. Dai, M. Kim, Y. Song, 2020/015.) One
/// level. Immutable.
class PackedRowsProduct : public Plan {
 public:
  /// `weights`: [row, column]. Throws ParameterError as PlainMatrixProduct, and for other vectors than 1 to
  /// N/4; LevelError for a level that is not the user's, or the lowest of those; MismatchError for another
  /// scheme than CKKS.
  PackedRowsProduct(const rlwe::Parameters& parameters, std::size_t rows, std::size_t columns,
                    std::span<const double> weights, std::size_t vectors,
                    const PackedRowsOptions& options = {});

  [[nodiscard]] std::size_t rows() const { return product_.rows(); }
  [[nodiscard]] std::size_t columns() const { return product_.columns(); }
  [[nodiscard]] std::size_t vectors() const { return vectors_; }
  /// Rows of a ciphertext, R: N / 2 over the power of two that the vectors are filled up to, which is 32 and
  /// sqrt(N / 8) at the least.
  [[nodiscard]] std::size_t parts() const { return parts_; }
  /// Ciphertexts of X, and of the product.
  [[nodiscard]] std::size_t input_ciphertexts() const { return groups(columns()); }
  [[nodiscard]] std::size_t result_ciphertexts() const { return groups(rows()); }
  /// The product with rounded weights, row by row.
  [[nodiscard]] const PlainMatrixProduct& product() const { return product_; }

  /// The values to encrypt, [ciphertext, slot] of N/2 slots, for a matrix [row, vector] of any rows. Throws
  /// ParameterError for a part of a row.
  [[nodiscard]] std::vector<std::complex<double>> pack(std::span<const std::complex<double>> matrix) const;
  /// The reverse: `rows` rows of values [ciphertext, slot]. Throws ParameterError where they have fewer.
  [[nodiscard]] std::vector<std::complex<double>> unpack(std::span<const std::complex<double>> values,
                                                         std::size_t rows) const;

 private:
  friend class PreparedPackedRowsProduct;

  [[nodiscard]] std::size_t groups(std::size_t rows) const { return (rows + parts_ - 1) / parts_; }
  /// The gadget of all keys: over the level's primes alone.
  [[nodiscard]] const rlwe::GadgetPrimes& gadget() const { return gadget_; }
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  /// Errors of the product's entries (not of slots), as PlainMatrixProduct's, with the noise of the keys and
  /// one division more.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  PlainMatrixProduct product_;
  std::size_t vectors_, parts_;
  rlwe::GadgetPrimes gadget_;
  double switching_ = 0;  // of a key switch, without its division
};

/// The same with its weights and monomials in a context's memory.
class PreparedPackedRowsProduct {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedPackedRowsProduct(const rlwe::ContextPointer& context, const PackedRowsProduct& plan);

  [[nodiscard]] const PackedRowsProduct& plan() const { return plan_; }
  /// The product's ciphertexts. X may be at a higher level, and wait for its rescale. Throws MissingKeyError;
  /// MismatchError for other batches or slots; LevelError for a lower level, and where the product does not
  /// fit the level's modulus.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& x) const;

 private:
  /// X^-r times ciphertext g, for each row g R + r.
  [[nodiscard]] rlwe::Ciphertext unpacked(const rlwe::Ciphertext& x) const;
  /// P_u of each group, from its a_r, which are changed: [group, u] and [group, r].
  void exchange(const poly::PolyView& out, const poly::PolyView& rows) const;
  /// Groups of equally many rows: the sums of X^r b_r, and over Q P those of products with the ordered keys.
  void pack_groups(const poly::PolyView& kept, const poly::PolyView& switched,
                   const poly::ConstPolyView& rows, const poly::Poly& keys) const;
  /// Part 0 of each row, in its place of a ciphertext.
  [[nodiscard]] rlwe::Ciphertext packed(rlwe::Ciphertext rows, const rlwe::EvaluationKeys& keys) const;
  /// The digits of the keys of s_-u, [u, digit].
  [[nodiscard]] poly::Poly ordered_keys(const rlwe::EvaluationKeys& keys) const;

  rlwe::ContextPointer context_;
  PackedRowsProduct plan_;
  PreparedPlainMatrixProduct product_;
  rlwe::GadgetPointer gadget_;
  poly::Poly places_, turns_;  // X^r and X^-r: [r, 1, limb, N]
  poly::Poly roots_;           // Z^-k, k < R / 2
  poly::Poly parts_;           // X^-u / R, for u > 0 times X^R
};

}  // namespace hemera::circuits
