// How large a function's outputs can be. Bounds are those of exact arithmetic: noise and the error of the
// function's approximation come on top.
#pragma once

#include <span>
#include <vector>

#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

/// Bounds on the magnitudes of the outputs, from those of the inputs, which are in their intervals where the
/// basis is Chebyshev's.
std::vector<double> bounds_of(const Function& function, std::span<const double> inputs);
/// The same for inputs anywhere in their intervals, or Function::largest() where it is set.
std::vector<double> bounds_over_intervals(const Function& function);

}  // namespace hemera::circuits
