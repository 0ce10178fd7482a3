// The split form of the discrete Galois transform on vector kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/multiply/galois_transform.hpp"
#include "multiply/split_kernels.hpp"

namespace hemera::multiply {

/// p = 1 modulo 2 degree; degree from 2^10 to 2^20; psi: a primitive root of unity of order 2 degree.
std::unique_ptr<const GaloisTransform> make_vector_split(std::size_t degree, const arith::Modulus& p,
                                                         std::uint64_t psi, const SplitKernels& kernels);

}  // namespace hemera::multiply
