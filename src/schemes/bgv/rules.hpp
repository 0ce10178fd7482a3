// BGV as one of the schemes on integers: the message in the low bits.
#pragma once

#include "schemes/integer/rules.hpp"

namespace hemera::bgv {

/// The message polynomial is m times the correction factor, and errors are multiples of t.
const integer::Rules& rules();

}  // namespace hemera::bgv
