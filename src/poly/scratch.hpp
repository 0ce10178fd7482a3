// Scratch polynomials of operations, in a workspace.
#pragma once

#include <complex>
#include <cstddef>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {

/// The bytes that `take` uses up.
inline std::size_t bytes_of(const PolyShape& shape) {
  return runtime::Workspace::aligned(shape.words() * static_cast<std::size_t>(Word::u64));
}

/// A contiguous array, valid until the enclosing frame of the workspace ends.
inline PolyView take(runtime::Workspace& workspace, const PolyShape& shape) {
  return {workspace.take(bytes_of(shape)), shape, Word::u64};
}

/// Slots, likewise.
inline SlotView take_slots(runtime::Workspace& workspace, std::size_t batch, std::size_t slots) {
  using Value = std::complex<double>;
  return {reinterpret_cast<Value*>(workspace.take(batch * slots * sizeof(Value))), batch, slots};
}

inline PolyShape with_limbs(PolyShape shape, std::size_t limbs) {
  shape.limbs = limbs;
  return shape;
}

inline PolyShape with_components(PolyShape shape, std::size_t components) {
  shape.components = components;
  return shape;
}

/// The shape of the digits that ModUp makes of `in`.
inline PolyShape digits_shape(const PolyShape& in, const ModUp& plan) {
  return with_components(with_limbs(in, plan.extended().size()), plan.digits().size());
}

/// Calls body(workspace), after it has been measured if the workspace makes room for each operation.
template <typename Body>
void with_scratch(runtime::Workspace& workspace, const Body& body) {
  if (workspace.grows()) {
    runtime::Workspace measuring = runtime::Workspace::measuring();
    body(measuring);
    workspace.reserve(measuring.peak());
  }
  body(workspace);
}

}  // namespace hemera::poly
