// The cost of a run of any circuits, from the ledger of its context.
#pragma once

#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/poly/ledger.hpp"

namespace hemera::circuits {

/// The operations of the entries and their work by level, of all elements of batches together. Bytes are left
/// at 0. A division whose source has special primes is one by P, others are rescales.
Cost counted_cost(const rlwe::Context& context, poly::Ledger::Entries entries);

/// Keys that serve what was asked for: those of gadgets of their own, and where none of these serves all
/// levels up to the highest one that a role was asked for at, one of that level's default gadget.
std::vector<KeyNeed> needs_of(const rlwe::Context& context, const rlwe::AskedKeys& asked);

/// The choice by which each product asks for a relinearization key over the primes of its level alone, as
/// circuits with own keys have them, and with `rotations` each rotation for such a Galois key. Other Galois
/// keys are asked for by their level.
rlwe::AskedKeys::Choice own_product_keys(const rlwe::Parameters& parameters, bool rotations = false);

}  // namespace hemera::circuits
