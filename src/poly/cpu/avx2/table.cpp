// The table of kernels for AVX2. Products modulo q of 50 or more bits are left to the scalar kernels, which
// have the 64-bit multiply that AVX2 lacks.
#include "poly/cpu/avx2/vectors.hpp"
#include "poly/cpu/vector/table50.hpp"

namespace hemera::poly::cpu {

const Kernels& avx2_kernels() {
  static const Kernels kernels = [] {
    Kernels table = avx2::kernels50("avx2", avx2_sampling);
    table.quotient = avx2::quotient;
    table.one_outside = avx2::one_outside;
    table.all_within = avx2::all_within;
    return table;
  }();
  return kernels;
}

}  // namespace hemera::poly::cpu
