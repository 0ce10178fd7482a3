// The table of kernels for WebAssembly: those that a client spends its time in.
#include "poly/cpu/simd128/vectors.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu {

const Kernels& simd128_kernels() {
  static const Kernels kernels = [] {
    Kernels table = scalar_kernels();
    table.name = "simd128";
    table.forward_transform = simd128::forward_transform;
    table.inverse_transform = simd128::inverse_transform;
    table.add = simd128::add;
    table.subtract = simd128::subtract;
    table.negate = simd128::negate;
    table.multiply = simd128::multiply;
    table.multiply_add = simd128::multiply_add;
    table.multiply_scalar = simd128::multiply_scalar;
    table.add_scalar = simd128::add_scalar;
    table.scale_residues = simd128::scale_residues;
    table.weighted_sum = simd128::weighted_sum;
    table.sampling = &simd128_sampling;
    return table;
  }();
  return kernels;
}

}  // namespace hemera::poly::cpu
