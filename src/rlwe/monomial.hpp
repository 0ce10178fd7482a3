// Powers of X in evaluation form.
#pragma once

#include <cstddef>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// X^exponent over the base, for an exponent below 2N: X^(2N - k) is X^-k.
poly::Poly monomial(const Context& context, const poly::RnsBase& base, std::size_t exponent);

}  // namespace hemera::rlwe
