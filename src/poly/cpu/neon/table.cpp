// The table of kernels for Advanced SIMD.
#include "poly/cpu/neon/kernels_neon.hpp"

namespace hemera::poly::cpu {

const Kernels& neon_kernels() {
  static const Kernels table = {
      .name = "neon",
      .forward_transform = neon::forward_transform,
      .inverse_transform = neon::inverse_transform,
      .forward_columns = neon::forward_columns,
      .forward_row = neon::forward_row,
      .inverse_row = neon::inverse_row,
      .inverse_columns = neon::inverse_columns,
      .add = neon::add,
      .subtract = neon::subtract,
      .negate = neon::negate,
      .multiply = neon::multiply,
      .multiply_add = neon::multiply_add,
      .multiply_scalar = neon::multiply_scalar,
      .add_scalar = neon::add_scalar,
      .subtract_multiply_scalar = neon::subtract_multiply_scalar,
      .permute_groups = scalar_kernels().permute_groups,
      .place_groups = scalar_kernels().place_groups,
      .collect_groups = scalar_kernels().collect_groups,
      .inner_product = neon::inner_product,
      .multiply_integers = neon::multiply_integers,
      .tensor_2x2 = neon::tensor_2x2,
      .scale_residues = neon::scale_residues,
      .quotient = scalar_kernels().quotient,
      .weighted_sum = neon::weighted_sum,
      .rounded_fractions = scalar_kernels().rounded_fractions,
      .one_outside = scalar_kernels().one_outside,
      .all_within = scalar_kernels().all_within,
      .residues_within = neon::residues_within,
      .sampling = &neon_sampling,
  };
  return table;
}

}  // namespace hemera::poly::cpu
