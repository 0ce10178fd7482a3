// The table of kernels for AVX-512 (F, DQ, VL, BW, IFMA).
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

const Kernels& avx512_kernels() {
  // What this instruction set does not improve stays scalar.
  static const Kernels table = [] {
    Kernels kernels = scalar_kernels();
    kernels.name = "avx512";
    return kernels;
  }();
  return table;
}

}  // namespace hemera::poly::cpu
