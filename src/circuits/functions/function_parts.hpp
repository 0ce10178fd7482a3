// The parts of a function and the steps of its plan: what depends on what, and values in the clear.
#pragma once

#include <complex>
#include <cstddef>
#include <variant>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"

namespace hemera::circuits {

using FunctionPart = std::variant<Function::Sum, Function::OfPolynomial>;

/// How many values it has.
std::size_t value_count(const FunctionPart& part);
/// The values that it takes, some more than once.
std::vector<Function::Value> operands_of(const FunctionPart& part);
/// The parts that the outputs depend on.
std::vector<bool> needed_parts(const Function& function);

/// A step's result from the values before it, in the clear, in one slot. Real: double or long double.
template <typename Real>
std::complex<Real> value_of(const FunctionStep& step, const std::vector<std::complex<Real>>& values,
                            std::size_t slot);

}  // namespace hemera::circuits
