// Polynomials as seen over a part of their base, or with all their entries.
#pragma once

#include <functional>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// Calls use(position in `base`, view) for each run of the limbs of `base` that are neighbours in `whole`.
/// MismatchError unless all are there.
void for_each_run(const poly::Poly& whole, const poly::RnsBase& base,
                  const std::function<void(std::size_t, const poly::ConstPolyView&)>& use);

/// The limbs of `whole` that `base` has (MismatchError unless all are there), as a polynomial of its own of
/// equal secrecy.
poly::Poly restrict_to(const Context& context, const poly::Poly& whole, const poly::RnsBase& base);

/// Whether the limbs of `base` stand first in `whole`. MismatchError as above.
bool stands_first(const poly::Poly& whole, const poly::RnsBase& base);

/// Calls use(view of `whole` over `base`), without a copy where its limbs stand first in `whole`.
void with_restricted(const Context& context, const poly::Poly& whole, const poly::RnsBase& base,
                     const std::function<void(const poly::ConstPolyView&)>& use);

/// Calls use(view with all N entries of a limb), without a copy where these are stored.
void with_all_entries(const Context& context, const poly::Poly& poly,
                      const std::function<void(const poly::ConstPolyView&)>& use);

}  // namespace hemera::rlwe
