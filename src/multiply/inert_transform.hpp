// The inert form of the discrete Galois transform on the kernels of integer products.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/multiply/galois_transform.hpp"
#include "multiply/inert_kernels.hpp"

namespace hemera::multiply {

/// Whether there is one for p = 3 modulo 4 and -1 modulo degree: p from 2^20 to 2^48, -1 modulo 2 degree
/// (roots of norm 1, whose inverses are their conjugates), and degree at least 128.
bool has_vector_inert(std::size_t degree, const arith::Modulus& p);
std::unique_ptr<const GaloisTransform> make_vector_inert(std::size_t degree, const arith::Modulus& p,
                                                         const InertKernels& kernels);

}  // namespace hemera::multiply
