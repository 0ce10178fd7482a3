// BFV as one of the schemes on integers: the message in the high bits.
#pragma once

#include "schemes/integer/rules.hpp"

namespace hemera::bfv {

/// The message polynomial is round(Q m / t) = (Q m - [Q m]_t) / t.
const integer::Rules& rules();

}  // namespace hemera::bfv
