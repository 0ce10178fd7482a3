// The scales that a plan's steps lead to, beyond what doubles hold of them.
#pragma once

#include <vector>

#include "hemera/arith/two_doubles.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/rlwe/scale_policy.hpp"

namespace hemera::circuits {

/// A scale after a rescale from the level.
arith::TwoDoubles rescaled(const arith::TwoDoubles& scale, const rlwe::Parameters& parameters,
                           std::size_t level);

/// Fills scale_rest and result_scale_rest of steps whose inputs have the plan's scale and its rest. A
/// product's scale is that of its factors, and a rescale divides by a quotient of primes: with doubles alone,
/// each step would round both, and a constant would be that much beside the product that it is added to.
/// Values that are taken at lower levels' moduli than their own keep what doubles make of that.
void set_exact_scales(std::vector<FunctionStep>& steps, const rlwe::Parameters& parameters,
                      std::size_t inputs, const Ends& input, double input_rest);

}  // namespace hemera::circuits
