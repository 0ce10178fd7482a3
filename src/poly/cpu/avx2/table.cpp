// The table of kernels for AVX2.
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

const Kernels& avx2_kernels() {
  // What this instruction set does not improve stays scalar.
  static const Kernels table = [] {
    Kernels kernels = scalar_kernels();
    kernels.name = "avx2";
    kernels.sampling = &avx2_sampling;
    return kernels;
  }();
  return table;
}

}  // namespace hemera::poly::cpu
