// The checks and the cleaning up of every backend's samplers.
#pragma once

#include <cstddef>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"

namespace hemera::poly {

/// The numbers of the polynomials stay below 2^32; ParameterError otherwise.
void check_stream(const char* operation, const PolyShape& out, const RandomStream& stream);

/// The weight is from 1 to the degree; ParameterError otherwise.
void check_distribution(const Distribution& distribution, std::size_t degree);

/// Zeroes the stack that calls have used which have returned: what they saved there may have held secrets.
void zero_stack_below();

}  // namespace hemera::poly
