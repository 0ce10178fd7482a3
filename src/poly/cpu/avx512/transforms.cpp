// The choice between the two arithmetics of the transforms.
#include "poly/cpu/avx512/transforms.hpp"

#include "poly/cpu/avx512/kernels_avx512.hpp"

namespace hemera::poly::cpu::avx512 {

void forward_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  if (tables.modulus.value() < max_modulus_52) {
    forward_transform52(out, in, tables);
  } else {
    forward_transform64(out, in, tables);
  }
}

void inverse_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  if (tables.modulus.value() < max_modulus_52) {
    inverse_transform52(out, in, tables);
  } else {
    inverse_transform64(out, in, tables);
  }
}

}  // namespace hemera::poly::cpu::avx512
