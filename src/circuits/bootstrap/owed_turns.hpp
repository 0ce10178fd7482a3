// Matrices whose products stay turned, so that no key turns each to its place.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemera/circuits/linear/diagonals.hpp"

namespace hemera::circuits {

/// A matrix of vectors that are turned to the right by what was owed before, and how far to the right its
/// product is turned. All its diagonals are at 0 or above; their entries are turned in the clear.
struct OwingMatrix {
  MatrixDiagonals diagonals;
  std::size_t owed = 0;
};
/// `period`: with which the vectors repeat, a divisor of the slots. Diagonals are equal modulo it only where
/// they are one. `low`: the number that becomes 0.
OwingMatrix owing(const MatrixDiagonals& matrix, std::size_t slots, std::size_t period, std::size_t low,
                  std::size_t owed);
/// Where the diagonals of matrices that follow each other begin, each after its widest gap.
std::vector<std::size_t> lowest_numbers(std::span<const MatrixDiagonals* const> matrices, std::size_t period);
/// The same, and their sum is 0 modulo the period: a matrix whose diagonals go all around begins anywhere,
/// and others before they need to, where the steps of powers of two have room. Empty where that is not
/// possible.
std::vector<std::size_t> balanced_numbers(std::span<const MatrixDiagonals* const> matrices,
                                          std::size_t period);
/// A matrix of such vectors whose product is not turned: the same diagonals in other places.
MatrixDiagonals paying(const MatrixDiagonals& matrix, std::size_t slots, std::size_t owed);

}  // namespace hemera::circuits
