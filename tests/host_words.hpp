// Residues of a context's objects, on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/rlwe/context.hpp"

namespace hemera::tests {

/// [batch, component, limb, N], in the polynomial's own form.
std::vector<std::uint64_t> host_words(const rlwe::Context& context, const poly::Poly& poly);

}  // namespace hemera::tests
