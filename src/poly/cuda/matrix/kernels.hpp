// The kernels of products of bytes, and the residues that each takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda::matrix {

/// Bytes of a residue, as kernels have them: 4, 6, 7 or 8.
inline unsigned bytes_of(const arith::Modulus& q) {
  return q.bits() <= 32 ? 4 : q.bits() <= 48 ? 6 : q.bits() <= 56 ? 7 : 8;
}

/// Calls body(count), a constant.
template <typename Body>
void with_bytes(unsigned bytes, const Body& body) {
  switch (bytes) {
    case 4:
      return body(std::integral_constant<unsigned, 4>{});
    case 6:
      return body(std::integral_constant<unsigned, 6>{});
    case 7:
      return body(std::integral_constant<unsigned, 7>{});
    default:
      return body(std::integral_constant<unsigned, 8>{});
  }
}

/// Calls body(limb, limbs, component, components, bytes) for parts of a few components and of limbs that one
/// kernel takes.
template <typename Body>
void for_each_kernel(const PolyShape& shape, const RnsBase& base, const Body& body) {
  constexpr std::size_t most_components = 65535 / limbs_per_launch;
  for (std::size_t limb = 0; limb < shape.limbs;) {
    const unsigned bytes = bytes_of(base.modulus(limb));
    std::size_t limbs = 1;
    while (limbs < limbs_per_launch && limb + limbs < shape.limbs &&
           bytes_of(base.modulus(limb + limbs)) == bytes) {
      ++limbs;
    }
    for (std::size_t component = 0; component < shape.components; component += most_components) {
      body(limb, limbs, component, std::min(most_components, shape.components - component), bytes);
    }
    limb += limbs;
  }
}

}  // namespace hemera::poly::cuda::matrix
