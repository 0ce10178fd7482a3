// The table of kernels for AVX-512 (F, DQ, VL, BW, IFMA).
#include "poly/cpu/avx512/vectors.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu {

const Kernels& avx512_kernels() {
  static constexpr Kernels table = {
      .name = "avx512",
      .forward_transform = avx512::forward_transform,
      .inverse_transform = avx512::inverse_transform,
      .forward_columns = avx512::forward_columns,
      .forward_row = avx512::forward_row,
      .inverse_row = avx512::inverse_row,
      .inverse_columns = avx512::inverse_columns,
      .forward_transform_of_sum = avx512::forward_transform_of_sum,
      .add = avx512::add,
      .subtract = avx512::subtract,
      .negate = avx512::negate,
      .multiply = avx512::multiply,
      .multiply_add = avx512::multiply_add,
      .multiply_scalar = avx512::multiply_scalar,
      .add_scalar = avx512::add_scalar,
      .add_past_cache = avx512::add_past_cache,
      .subtract_past_cache = avx512::subtract_past_cache,
      .multiply_past_cache = avx512::multiply_past_cache,
      .subtract_multiply_scalar = avx512::subtract_multiply_scalar,
      .permute_groups = avx512::permute_groups,
      .place_groups = avx512::place_groups,
      .collect_groups = avx512::collect_groups,
      .inner_product = avx512::inner_product,
      .inner_product_pair = avx512::inner_product_pair,
      .multiply_integers = avx512::multiply_integers,
      .tensor_2x2 = avx512::tensor_2x2,
      .scale_residues = avx512::scale_residues,
      .quotient = avx512::quotient,
      .weighted_sum = avx512::weighted_sum,
      .rounded_fractions = avx512::rounded_fractions,
      .one_outside = avx512::one_outside,
      .all_within = avx512::all_within,
      .residues_within = avx512::residues_within,
      .sampling = &avx512_sampling,
  };
  return table;
}

}  // namespace hemera::poly::cpu
