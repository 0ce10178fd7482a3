// Matrices whose products stay turned, so that no key turns each to its place.
#pragma once

#include <cstddef>

#include "hemera/circuits/linear/diagonals.hpp"

namespace hemera::circuits {

/// A matrix of vectors that are turned to the right by what was owed before, and how far to the right its
/// product is turned. All its diagonals are at 0 or above, from the end of the widest gap between them on;
/// their entries are turned in the clear.
struct OwingMatrix {
  MatrixDiagonals diagonals;
  std::size_t owed = 0;
};
/// `period`: with which the vectors repeat, a divisor of the slots. Diagonals are equal modulo it only where
/// they are one.
OwingMatrix owing(const MatrixDiagonals& matrix, std::size_t slots, std::size_t period, std::size_t owed);
/// A matrix of such vectors whose product is not turned: the same diagonals in other places.
MatrixDiagonals paying(const MatrixDiagonals& matrix, std::size_t slots, std::size_t owed);

}  // namespace hemera::circuits
