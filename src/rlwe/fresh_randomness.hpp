// Pieces of key generation and encryption: samples of RLWE.
#pragma once

#include <span>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// Fresh pairs (b, a) with b = e - a s + addend in every polynomial of `out`, [batch, 2, limb, N] over
/// `base`, as Backend::sample_rlwe describes. Returns the public stream that `a` comes from.
poly::RandomStream sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                               const poly::RnsBase& base, const poly::ConstPolyView& addend = {},
                               std::span<const poly::GadgetTerm> terms = {});

}  // namespace hemera::rlwe
