// Which operations the checks of arguments cover.
#pragma once

#include <string>
#include <vector>

#include "conformance/suite.hpp"

namespace hemera::conformance {

/// Their names, in the table's order.
std::vector<std::string> checked_operations(const BackendCase& backend_case);

}  // namespace hemera::conformance
