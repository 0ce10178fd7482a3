// Bootstrapping few real values by roots of unity: from level 0 to their values at the user's highest level
// (ePrint 2025/651; docs/bootstrapping-algorithm.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// A coefficient m + q_0 I at level 0 is b + sum over blocks k of the coefficient of a that the single 1 of
/// block k picks. So exp(2 pi i m / q_0) is the product over blocks of sums over a block of z_i zeta^(a_i),
/// with zeta = exp(2 pi i / q_0) and encryptions of z: multiples of q_0 vanish, and none is too large. Its
/// imaginary part is a sine, whose argument is small.
struct RootsStage {
  rlwe::BlockSlots slots;
  /// Slots of the ciphertexts: one a value, or half as many where imaginary parts follow the real ones.
  std::size_t input_slots = 0;
  /// Level of the sum of products, whose encryptions have its scale; the result is log2 blocks levels below.
  std::size_t level = 0;
  double plaintext_scale = 0;
  KeyNeed to_block;
  std::vector<KeyNeed> encryptions;
  /// Rotations whose results each step adds to its input, over the places of blocks.
  std::vector<std::vector<std::size_t>> places = {};
  rlwe::GadgetPrimes places_gadget = {};
  /// A product of each step's input and its rotation.
  struct Product {
    std::size_t rotation = 0;
    KeyNeed galois, product;
  };
  std::vector<Product> products = {};
  bool exponential = false;  ///< Whether the product is the result; else twice its sine is.
  double result_scale = 0;   ///< With which the sine is its argument.
};

/// The degree of the secret's ring, for ciphertexts of a degree.
std::size_t block_degree(std::size_t degree);
/// The shape of the secret, from the parameters' ring and the number of blocks: in the smallest ring that has
/// an estimate of its security.
rlwe::BlockSecret block_secret(const rlwe::Parameters& parameters, std::size_t blocks);

/// log2 of the scale of encryptions. Their rounding, times a block, is as much of the result's error as that
/// of plaintexts at 2^46.
inline constexpr int block_scale_bits = 50;

/// `slots`: of the ciphertexts. `parts`: 1 for real parts alone, 2 for imaginary ones after them. Throws
/// ParameterError if the values do not fit.
RootsStage roots_stage(const rlwe::Parameters& parameters, const BootstrapLayout& layout, std::size_t slots,
                       std::size_t parts);

class RootsOfUnity {
 public:
  RootsOfUnity(rlwe::ContextPointer context, RootsStage stage);

  /// Bootstraps from level 0, with the values as coefficients (SlotToCoeff's), of any batch.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& low) const;

 private:
  /// Exponentials of `low`, in coefficient form: a plaintext for each encryption, over the base, as a batch.
  [[nodiscard]] poly::Poly exponentials(const poly::ConstPolyView& low, const poly::RnsBase& base) const;
  [[nodiscard]] rlwe::Ciphertext sum_of_products(const rlwe::EvaluationKeys& keys,
                                                 const rlwe::Ciphertext& low) const;
  [[nodiscard]] rlwe::Ciphertext over_places(const rlwe::EvaluationKeys& keys,
                                             const rlwe::Ciphertext& x) const;

  rlwe::ContextPointer context_;
  RootsStage stage_;
  std::optional<rlwe::Plaintext> i_;  ///< X^(N/2) at the result's level, for a sine
};

}  // namespace hemera::circuits
