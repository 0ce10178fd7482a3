// Matrices in the clear times many short vectors, side by side in the slots of few ciphertexts (CKKS).
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct PeriodicTransformOptions {
  /// Level of the ciphertexts; default: the user's highest. The product is one lower.
  std::optional<std::size_t> level = std::nullopt;
  /// Rotations that share one preparation of a vector, a power of two; 0: the cheapest.
  std::size_t baby_steps = 0;
  /// Whether encoded diagonals stay in memory. If not, each call encodes them, from 16 bytes for each weight,
  /// or 32 if weights are complex.
  bool kept = true;
  /// Results whose sums are in memory at the same time; 0: as many as have room in 4 GiB.
  std::size_t results_at_once = 0;
};

/// A plan: y = W x for each of the vectors x that ciphertexts hold, entry c p + j of vector v in slot v p + j
/// of ciphertext c, with the period p. So are the products. A vector of more than p entries has several
/// ciphertexts.
///
/// A block of p x p has the diagonals -p < n < p, zero where row and column do not meet. They repeat with the
/// period, so they are polynomials in X^(N/2p): 2p residues a prime are stored, in all what the weights take
/// times twice the bytes of the primes. With baby steps b and giant steps g (S. Halevi, V. Shoup, 2018/244;
/// double hoisting: 2020/1203), the sums over b and all input ciphertexts of diagonals times turned vectors
/// are one product of matrices of residues for each value of a period (poly::Backend::multiply_elements), for
/// all giant steps and results at once. One level; the keys are over its primes alone. Immutable.
class PeriodicTransform : public Plan {
 public:
  /// `weights`: [row, column]. Throws ParameterError for no row or column, another number of weights, one
  /// that is not finite, weights that are all zero, a period that is no power of two from 2 to N/4, and steps
  /// that are no power of two up to the period; LevelError for a level that is not the user's, or the lowest
  /// of those; MismatchError for another scheme than CKKS.
  PeriodicTransform(const rlwe::Parameters& parameters, std::size_t rows, std::size_t columns,
                    std::span<const double> weights, std::size_t period,
                    const PeriodicTransformOptions& options = {});
  /// The same for complex weights.
  PeriodicTransform(const rlwe::Parameters& parameters, std::size_t rows, std::size_t columns,
                    std::span<const std::complex<double>> weights, std::size_t period,
                    const PeriodicTransformOptions& options = {});

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t period() const { return period_; }
  /// Ciphertexts of the vectors, and of the products.
  [[nodiscard]] std::size_t input_ciphertexts() const { return (columns_ + period_ - 1) / period_; }
  [[nodiscard]] std::size_t result_ciphertexts() const { return (rows_ + period_ - 1) / period_; }
  /// Steps, by which vectors and sums are turned to the left; giant steps modulo N/2, 0 first.
  [[nodiscard]] const std::vector<std::size_t>& baby_steps() const { return babies_; }
  [[nodiscard]] const std::vector<std::size_t>& giant_steps() const { return giants_; }

 private:
  friend class PreparedPeriodicTransform;

  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  /// Errors of products of vectors of magnitude 1 and independent signs. The mean is over the rows, the worst
  /// is that of one row.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  [[nodiscard]] std::complex<double> weight(std::size_t row, std::size_t column) const;
  /// Steps and gadget of the least cost, for the diagonals that are not zero.
  void choose(std::size_t baby_steps);
  /// The diagonal of a giant and a baby step of block (result, input), turned to the right by the giant step.
  void turned_diagonal(std::span<std::complex<double>> out, std::size_t result, std::size_t input,
                       std::size_t giant, std::size_t baby) const;

  std::size_t rows_, columns_, period_;
  std::shared_ptr<const std::vector<std::complex<double>>> weights_;  // shared by copies
  bool is_complex_;
  std::vector<std::size_t> babies_, giants_;
  rlwe::GadgetPrimes gadget_;
  double switching_ = 0;        // of a key switch, without its division
  double plaintext_scale_ = 0;  // at which diagonals are encoded
  bool kept_;
  std::size_t results_at_once_;
};

/// The same with its diagonals in a context's memory, one period of each: encoded, or as numbers.
class PreparedPeriodicTransform {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedPeriodicTransform(const rlwe::ContextPointer& context, const PeriodicTransform& plan);

  [[nodiscard]] const PeriodicTransform& plan() const { return plan_; }
  /// The products' ciphertexts. The vectors may be at a higher level, and wait for their rescale. Throws
  /// MissingKeyError; MismatchError for other batches or slots; LevelError for a lower level.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& x) const;

 private:
  /// Results of which sums are held at once, and their rows of `diagonals_`.
  struct Group {
    std::size_t first, count;
  };

  /// The numbers of all diagonals, in the context's memory.
  void upload();
  /// The diagonals of a group, encoded.
  [[nodiscard]] poly::Poly encoded(const Group& group) const;
  /// The products of a group, over Q P, from the vectors turned by each baby step.
  [[nodiscard]] rlwe::ExtendedCiphertext products(const Group& group, const rlwe::ExtendedSums& turned,
                                                  const rlwe::EvaluationKeys& keys) const;
  struct Turns {
    std::vector<std::shared_ptr<const rlwe::SwitchingKey>> keys;  // for as long as they are used
    std::vector<rlwe::Turn> all;
  };
  [[nodiscard]] Turns turns(std::span<const std::size_t> steps, const rlwe::EvaluationKeys& keys) const;

  rlwe::ContextPointer context_;
  PeriodicTransform plan_;
  rlwe::GadgetPointer gadget_;
  std::vector<Group> groups_;
  runtime::Buffer values_;  // of diagonals: [group; giant step, result; baby step, input; place of a period]
  std::vector<poly::Poly> diagonals_;  // of each group if they are kept: [.., limb of Q P, a period]
  double largest_row_ = 0;             // the largest sum of magnitudes of a row
};

}  // namespace hemera::circuits
