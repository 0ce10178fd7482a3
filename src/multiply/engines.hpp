// The makers of the engines that hemera/multiply/engines.hpp names.
#pragma once

#include <memory>

#include "hemera/poly/ring_multiplier.hpp"

namespace hemera::multiply {

std::shared_ptr<const poly::RingMultiplier> make_ntt_engine();
std::shared_ptr<const poly::RingMultiplier> make_dgt_engine();
std::shared_ptr<const poly::RingMultiplier> make_kronecker_engine();
std::shared_ptr<const poly::RingMultiplier> make_schoolbook_engine();

}  // namespace hemera::multiply
