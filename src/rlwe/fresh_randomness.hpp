// Pieces of key generation and encryption: error polynomials, and keys as seen over a smaller base.
#pragma once

#include <cstdint>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// What errors are multiplied by: t for BGV, else 1.
std::uint64_t error_factor(const Context& context);

/// Fresh errors in evaluation form, times the factor, in every polynomial of `out` (limbs over `base`).
void sample_errors(const Context& context, const poly::PolyView& out, const poly::RandomStream& secret,
                   const poly::RnsBase& base);

/// The limbs of `whole` that `base` has (all of them must be there), as a polynomial of its own of equal
/// secrecy.
poly::Poly restrict_to(const Context& context, const poly::Poly& whole, const poly::RnsBase& base);

}  // namespace hemera::rlwe
