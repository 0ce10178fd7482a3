// The table of kernels for AVX2.
#include "poly/cpu/avx2/kernels_avx2.hpp"

namespace hemera::poly::cpu {

const Kernels& avx2_kernels() {
  static const Kernels table = {
      .name = "avx2",
      .forward_transform = avx2::forward_transform,
      .inverse_transform = avx2::inverse_transform,
      .forward_columns = avx2::forward_columns,
      .forward_row = avx2::forward_row,
      .inverse_row = avx2::inverse_row,
      .inverse_columns = avx2::inverse_columns,
      .add = avx2::add,
      .subtract = avx2::subtract,
      .negate = avx2::negate,
      .multiply = avx2::multiply,
      .multiply_add = avx2::multiply_add,
      .multiply_scalar = avx2::multiply_scalar,
      .add_scalar = avx2::add_scalar,
      .subtract_multiply_scalar = avx2::subtract_multiply_scalar,
      .permute_groups = scalar_kernels().permute_groups,
      .place_groups = scalar_kernels().place_groups,
      .collect_groups = scalar_kernels().collect_groups,
      .inner_product = avx2::inner_product,
      .multiply_integers = avx2::multiply_integers,
      .tensor_2x2 = avx2::tensor_2x2,
      .scale_residues = avx2::scale_residues,
      .quotient = avx2::quotient,
      .weighted_sum = avx2::weighted_sum,
      .rounded_fractions = scalar_kernels().rounded_fractions,
      .one_outside = avx2::one_outside,
      .all_within = avx2::all_within,
      .residues_within = avx2::residues_within,
      .sampling = &avx2_sampling,
  };
  return table;
}

}  // namespace hemera::poly::cpu
