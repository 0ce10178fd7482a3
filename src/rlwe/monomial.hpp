// Powers of X in evaluation form.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// X^exponent over the base, for an exponent below 2N: X^(2N - k) is X^-k.
poly::Poly monomial(const Context& context, const poly::RnsBase& base, std::size_t exponent);
/// Several of them: [number, 1, limb, N].
poly::Poly monomials(const Context& context, const poly::RnsBase& base,
                     std::span<const std::size_t> exponents);

}  // namespace hemera::rlwe
