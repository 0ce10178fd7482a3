// The matrices of Hemera's bootstraps.
#pragma once

#include <cstddef>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"

namespace hemera::circuits {

struct BootstrapMatrices {
  /// Matrices in the order in which they are applied, a level each.
  std::vector<LinearTransform> to_coefficients, to_slots;
  /// Matrices of merged parts, and of ciphertexts that are together, slots first: one, or none.
  std::vector<LinearTransform> join;
};

struct MatrixShape {
  std::size_t slots = 0;  ///< of the ciphertexts
  /// Slots of the raised ciphertext: more where it has several ciphertexts' values, slots first. SlotToCoeff
  /// then rescales nothing, for that comes after their sum, and `join`, whose result is not rescaled either,
  /// makes of values block by block the slots of their interleaved polynomials, over the number of blocks.
  std::size_t raised_slots = 0;
  bool merges_parts = false;  ///< BootstrapOptions::merges_parts
};
BootstrapMatrices bootstrap_matrices(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                                     const MatrixShape& shape);

/// The keys by which a matrix is taken: all (`hoisted` 0), those of steps that follow each other, of which
/// this many share a ModUp (LinearTransformOptions::fewest_keys), or the key of one step alone.
struct MatrixKeys {
  std::size_t hoisted = 0;
  bool one_key = false;
  bool has_short_prime = false;  // short_rotation_gadget
};
/// The same matrix.
LinearTransform by_keys(const LinearTransform& transform, const MatrixKeys& keys);
/// A matrix in the place of another one.
LinearTransform by_keys(const LinearTransform& transform, MatrixDiagonals diagonals,
                        const MatrixKeys& keys = {});

/// The same matrix times a factor, with the same keys.
LinearTransform scaled(const LinearTransform& transform, double factor);

}  // namespace hemera::circuits
