// The matrices of Hemera's bootstraps.
#pragma once

#include <cstddef>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"

namespace hemera::circuits {

struct BootstrapMatrices {
  /// In the order in which they are applied, a level each.
  std::vector<LinearTransform> to_coefficients, to_slots;
  /// Of merged parts, slots first: one, or none.
  std::vector<LinearTransform> join;
};

/// For so many slots. `merges_parts`: BootstrapOptions::merges_parts.
BootstrapMatrices bootstrap_matrices(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                                     std::size_t slots, bool merges_parts);

/// The same matrix times a factor, with the same keys.
LinearTransform scaled(const rlwe::Parameters& parameters, const LinearTransform& transform, double factor);

}  // namespace hemera::circuits
