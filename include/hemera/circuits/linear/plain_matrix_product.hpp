// Matrices in the clear times encrypted matrices, whose rows are ciphertexts (CKKS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/integer_matrix.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct PlainMatrixOptions {
  /// Level of the ciphertexts; default: the user's highest.
  std::optional<std::size_t> level = std::nullopt;
  /// Bits that the largest weight is rounded to, sign included: 8 or 16.
  int bits = 16;
  /// Whether the product is rescaled: a level lower, with that level's scale. If not, it has the level of the
  /// ciphertexts, and their scale times factor().
  bool rescaled = true;
  /// Slots of the ciphertexts, for the expected error; default: N/2. The product takes any number.
  std::optional<std::size_t> slots = std::nullopt;
};

/// A plan: Y = W X with W of rows x columns in the clear, and X a batch of ciphertexts, one for each row of
/// X. W is rounded to integers, W factor() to the nearest, so that a row of Y is a sum of integer multiples:
/// no key, no rotation and no encoding, whatever the ciphertexts encode. It is a product of matrices modulo
/// each prime (poly::Backend::multiply_matrix). Immutable.
class PlainMatrixProduct : public Plan {
 public:
  /// `weights`: [row, column]. Throws ParameterError for no row or column, another number of weights, one
  /// that is not finite, and other bits; LevelError for a level that is not the user's, or the lowest of
  /// those if the product is rescaled; MismatchError for another scheme than CKKS.
  PlainMatrixProduct(const rlwe::Parameters& parameters, std::size_t rows, std::size_t columns,
                     std::span<const double> weights, const PlainMatrixOptions& options = {});

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] bool is_rescaled() const { return rescaled_; }
  /// Between weights and their integers.
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] const std::vector<std::int16_t>& integers() const { return *integers_; }
  /// The root mean square, over the rows, of the change that rounding the weights makes in a product with
  /// values of magnitude 1 and independent signs.
  [[nodiscard]] double rounding_of_weights() const { return weights_error_; }

 private:
  friend class PackedRowsProduct;
  friend class PreparedPlainMatrixProduct;

  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  /// For products with values of magnitude 1 and independent signs: the inputs' errors, rounding of the
  /// weights and of the result. The mean is over the rows, the worst is that of one row.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t rows_, columns_;
  int bits_;
  bool rescaled_;
  std::size_t slots_;
  double factor_ = 1;
  std::shared_ptr<const std::vector<std::int16_t>> integers_;
  double weights_error_ = 0, worst_weights_error_ = 0;
  double norm_ = 0, worst_norm_ = 0;  // of the rows, Euclidean: the root mean square and the largest
};

/// The same with its weights in a context's memory, 1 or 2 bytes each.
class PreparedPlainMatrixProduct {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedPlainMatrixProduct(const rlwe::ContextPointer& context, const PlainMatrixProduct& plan);

  [[nodiscard]] const PlainMatrixProduct& plan() const { return plan_; }
  /// The product with a batch, along its first axis. The ciphertexts may be at a higher level, and wait for
  /// their rescale. Throws MismatchError for a first axis other than the matrix's columns, LevelError for a
  /// lower level, and where the product does not fit the level's modulus.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& x) const;
  /// The same before its rescale, at the plan's level.
  [[nodiscard]] rlwe::Ciphertext sums(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x) const;

 private:
  /// How sums of this scale end.
  [[nodiscard]] rlwe::ScaleWay end_of(const rlwe::Context& context, double scale) const;

  PlainMatrixProduct plan_;
  rlwe::IntegerMatrix weights_;
  double multiple_ = 1;                     // of sums of the plan's scale, before their division
  std::optional<poly::Division> division_;  // of that multiple
};

}  // namespace hemera::circuits
