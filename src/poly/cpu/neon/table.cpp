// The table of kernels for Advanced SIMD. Products modulo q of 50 or more bits are left to the scalar
// kernels: vectors lack the 64-bit multiply (docs/decisions/neon.md).
#include "poly/cpu/neon/vectors.hpp"
#include "poly/cpu/vector/table50.hpp"

namespace hemera::poly::cpu {

const Kernels& neon_kernels() {
  static const Kernels kernels = neon::kernels50("neon", neon_sampling);
  return kernels;
}

}  // namespace hemera::poly::cpu
