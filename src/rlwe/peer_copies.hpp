// Copies between contexts of the same parameters.
#pragma once

#include <memory>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// Throws MismatchError unless both contexts are of the same parameters.
void require_same_parameters(const Context& target, const Context& source);

/// While it lives, the calling thread's reads in the source's memory are the target's: what the source does
/// next does not wait for them. Null on one device's own backend, and where nothing runs later.
inline std::unique_ptr<runtime::Queue::Aside> aside_for(const Context& target, const Context& source) {
  return &source.backend() == &target.backend() ? nullptr
                                                : source.queue().copying_to(target.backend().device());
}

/// Copies an array of the source's. `view()` gives it, and is called when the copy's stream is chosen: what
/// the source does next does not wait for the copy.
template <typename View>
void copy_between(const Context& target, const poly::PolyView& out, const Context& source, const View& view,
                  poly::Form form) {
  const auto beside = aside_for(target, source);
  target.backend().copy_from(target.queue(), out, source.backend(), source.queue(), view(), form);
}

}  // namespace hemera::rlwe
