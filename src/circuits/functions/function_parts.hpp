// The parts of a function, and what depends on what.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

using FunctionPart = std::variant<Function::Sum, Function::OfPolynomial>;

/// How many values it has.
std::size_t value_count(const FunctionPart& part);
/// The values that it takes, some more than once.
std::vector<Function::Value> operands_of(const FunctionPart& part);
/// Which parts the outputs depend on.
std::vector<bool> needed_parts(const Function& function);

}  // namespace hemera::circuits
