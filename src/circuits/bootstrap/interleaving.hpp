// Ciphertexts of few slots as one of many, by monomials, and back.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "hemera/poly/plans.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// A polynomial of n slots is one in Y^R, Y = X^(N / 2nR). R of them, each times a power of Y, are one of n R
/// slots, of which each takes the coefficients that no other has: a sum that costs no level and no switch.
/// From the sum they come by an automorphism Y -> -Y, whose sum and difference with it have the even and the
/// odd ones, twice, and so on: log2 R switches, of batches of 1, 2, 4, ... (The expansion of S. Angel, H.
/// Chen, K. Laine, S. Setty, "PIR with compressed queries and amortized query processing", 2017/1142.)
///
/// Element i of a batch belongs to sum i modulo G, and is number i / G there, for G sums. Immutable.
class Interleaving {
 public:
  struct Shape {
    std::size_t slots = 0;         ///< of each, n
    std::size_t raised_slots = 0;  ///< n R, with R a power of two
    std::size_t low_level = 0;     ///< of sums
    std::size_t high_level = 0;    ///< of those that are taken apart
  };
  Interleaving(rlwe::ContextPointer context, const Shape& shape);

  /// `sums` ciphertexts of the batch `x`, at the low level, R for each sum at most; divided down to level 0,
  /// with its scale.
  [[nodiscard]] rlwe::Ciphertext joined(rlwe::Ciphertext x, std::size_t sums) const;
  /// The `count` elements of sums that are at the high level, divided by R, with the scale of a product whose
  /// rescale gives that of the next lower level: there they are then. Throws MissingKeyError if a rotation's
  /// key is missing.
  [[nodiscard]] rlwe::Ciphertext taken_apart(const ckks::Evaluator& evaluator, rlwe::Ciphertext x,
                                             std::size_t count) const;

 private:
  rlwe::ContextPointer context_;
  Shape shape_;
  poly::Division down_;                     // from the low level to level 0
  std::vector<poly::Poly> places_, turns_;  // Y^(2^i) at the low level, and Y^-(2^i) at the high one
};

}  // namespace hemera::circuits
