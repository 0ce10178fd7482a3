// Copies between contexts of the same parameters.
#pragma once

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// Throws MismatchError unless both contexts are of the same parameters.
void require_same_parameters(const Context& target, const Context& source);

/// Copies an array of the source's. `view()` gives it, and is called when the copy's stream is chosen: what
/// the source does next does not wait for the copy.
template <typename View>
void copy_between(const Context& target, const poly::PolyView& out, const Context& source, const View& view,
                  poly::Form form) {
  const auto beside =
      &source.backend() == &target.backend() ? nullptr : source.queue().copying_to(target.backend().device());
  target.backend().copy_from(target.queue(), out, source.backend(), source.queue(), view(), form);
}

}  // namespace hemera::rlwe
