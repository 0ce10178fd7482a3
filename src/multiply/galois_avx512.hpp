// Discrete Galois transforms with AVX-512 IFMA; call only when the processor has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/multiply/galois_transform.hpp"

namespace hemera::multiply {

/// p = 1 modulo 2 degree, below 2^50; degree at least 2^10; psi: a primitive root of unity of order 2 degree.
std::unique_ptr<const GaloisTransform> make_avx512_split(std::size_t degree, const arith::Modulus& p,
                                                         std::uint64_t psi);

}  // namespace hemera::multiply
