// The table of an instruction set whose products are for moduli below 2^50.
#pragma once

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

/// The scalar kernels, but for those that vector/ has.
Kernels kernels50(const char* name, const SamplingKernels& sampling) {
  Kernels table = scalar_kernels();
  table.name = name;
  table.forward_transform = forward_transform;
  table.inverse_transform = inverse_transform;
  table.forward_columns = forward_columns;
  table.forward_row = forward_row;
  table.inverse_row = inverse_row;
  table.inverse_columns = inverse_columns;
  table.add = add;
  table.subtract = subtract;
  table.negate = negate;
  table.multiply = multiply;
  table.multiply_add = multiply_add;
  table.multiply_scalar = multiply_scalar;
  table.add_scalar = add_scalar;
  table.subtract_multiply_scalar = subtract_multiply_scalar;
  table.inner_product = inner_product;
  table.multiply_integers = multiply_integers;
  table.tensor_2x2 = tensor_2x2;
  table.scale_residues = scale_residues;
  table.weighted_sum = weighted_sum;
  table.residues_within = residues_within;
  table.sampling = &sampling;
  return table;
}

}  // namespace
}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
