// The forms of the discrete Galois transform: in plain C++, for every degree, every prime below 2^61 and
// every processor, and on vector kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/multiply/galois_transform.hpp"
#include "multiply/inert_kernels.hpp"
#include "multiply/split_kernels.hpp"

namespace hemera::multiply {

/// The split form: p = 1 modulo 2 degree; psi: a primitive root of unity of order 2 degree.
std::unique_ptr<const GaloisTransform> make_scalar_split(std::size_t degree, const arith::Modulus& p,
                                                         std::uint64_t psi);
/// Degrees from 2^10 to 2^20.
std::unique_ptr<const GaloisTransform> make_vector_split(std::size_t degree, const arith::Modulus& p,
                                                         std::uint64_t psi, const SplitKernels& kernels);

/// The inert form: p = 3 modulo 4 and -1 modulo degree.
std::unique_ptr<const GaloisTransform> make_scalar_inert(std::size_t degree, const arith::Modulus& p);
/// Whether there is one on the kernels of integer products: p from 2^20 to 2^48, -1 modulo 2 degree (roots of
/// norm 1, whose inverses are their conjugates), and degree at least 128.
bool has_vector_inert(std::size_t degree, const arith::Modulus& p);
std::unique_ptr<const GaloisTransform> make_vector_inert(std::size_t degree, const arith::Modulus& p,
                                                         const InertKernels& kernels);

}  // namespace hemera::multiply
