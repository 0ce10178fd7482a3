// Discrete Galois transforms in plain C++: every degree, every prime below 2^61, every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/multiply/galois_transform.hpp"

namespace hemera::multiply {

/// p = 1 modulo 2 degree; psi: a primitive root of unity of order 2 degree.
std::unique_ptr<const GaloisTransform> make_scalar_split(std::size_t degree, const arith::Modulus& p,
                                                         std::uint64_t psi);
/// p = 3 modulo 4 and -1 modulo degree.
std::unique_ptr<const GaloisTransform> make_scalar_inert(std::size_t degree, const arith::Modulus& p);

}  // namespace hemera::multiply
