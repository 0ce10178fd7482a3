// What the samplers of every backend check and clean up.
#pragma once

#include <cstddef>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"

namespace hemera::poly {

/// The view fits the base (MismatchError), and the numbers of its polynomials stay below 2^32
/// (ParameterError).
void check_sampling(const PolyView& out, const RandomStream& stream, const RnsBase& base);

/// 1 <= weight <= degree; ParameterError otherwise.
void check_weight(std::size_t weight, std::size_t degree);

/// 1 <= bits <= 120; ParameterError otherwise.
void check_flooding(int bits);

/// Zeroes the stack that calls have used which have returned: what they saved there may have held secrets.
void zero_stack_below();

}  // namespace hemera::poly
