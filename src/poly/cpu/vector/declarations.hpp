// The kernels of one instruction set, whose vectors.hpp comes first; the contracts are those of Kernels. A
// set defines those that its table names.
#pragma once

#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {

Kernel<&Kernels::forward_transform> forward_transform;
Kernel<&Kernels::inverse_transform> inverse_transform;
Kernel<&Kernels::forward_columns> forward_columns;
Kernel<&Kernels::forward_row> forward_row;
Kernel<&Kernels::inverse_row> inverse_row;
Kernel<&Kernels::inverse_columns> inverse_columns;
Kernel<&Kernels::forward_transform_of_sum> forward_transform_of_sum;
Kernel<&Kernels::add> add;
Kernel<&Kernels::subtract> subtract;
Kernel<&Kernels::negate> negate;
Kernel<&Kernels::multiply> multiply;
Kernel<&Kernels::multiply_add> multiply_add;
Kernel<&Kernels::multiply_scalar> multiply_scalar;
Kernel<&Kernels::add_scalar> add_scalar;
Kernel<&Kernels::add_past_cache> add_past_cache;
Kernel<&Kernels::subtract_past_cache> subtract_past_cache;
Kernel<&Kernels::multiply_past_cache> multiply_past_cache;
Kernel<&Kernels::subtract_multiply_scalar> subtract_multiply_scalar;
Kernel<&Kernels::permute_groups> permute_groups;
Kernel<&Kernels::place_groups> place_groups;
Kernel<&Kernels::collect_groups> collect_groups;
Kernel<&Kernels::inner_product> inner_product;
Kernel<&Kernels::inner_product_pair> inner_product_pair;
Kernel<&Kernels::multiply_integers> multiply_integers;
Kernel<&Kernels::tensor_2x2> tensor_2x2;
Kernel<&Kernels::scale_residues> scale_residues;
Kernel<&Kernels::quotient> quotient;
Kernel<&Kernels::weighted_sum> weighted_sum;
Kernel<&Kernels::rounded_fractions> rounded_fractions;
Kernel<&Kernels::one_outside> one_outside;
Kernel<&Kernels::all_within> all_within;
Kernel<&Kernels::residues_within> residues_within;

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
