// Scratch polynomials of operations, in a workspace.
#pragma once

#include <cstddef>

#include "hemera/poly/poly.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {

/// What `take` uses up.
inline std::size_t bytes_of(const PolyShape& shape) {
  return runtime::Workspace::aligned(shape.words() * static_cast<std::size_t>(Word::u64));
}

/// A contiguous array, valid until the enclosing frame of the workspace ends.
inline PolyView take(runtime::Workspace& workspace, const PolyShape& shape) {
  return {workspace.take(bytes_of(shape)), shape, Word::u64};
}

inline PolyShape with_limbs(PolyShape shape, std::size_t limbs) {
  shape.limbs = limbs;
  return shape;
}

inline PolyShape with_components(PolyShape shape, std::size_t components) {
  shape.components = components;
  return shape;
}

}  // namespace hemera::poly
