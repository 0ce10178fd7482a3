// The points at which slots are values of a polynomial.
#pragma once

#include <complex>
#include <vector>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// The primitive 2N-th root of unity of each of N/2 slots: [slot].
std::vector<std::complex<double>> slot_roots(const rlwe::Parameters& parameters);

}  // namespace hemera::circuits
