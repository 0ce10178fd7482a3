// Results as NumPy arrays that own their values.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace hemera::python {

template <typename T>
using OwnedArray = nb::ndarray<nb::numpy, T, nb::c_contig>;

/// An array of this shape that owns the values: no copy.
template <typename T>
OwnedArray<T> to_owned_array(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const nb::capsule owner(owned.get(),
                          [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  owned.release();
  return OwnedArray<T>(data, shape.size(), shape.data(), owner);
}

}  // namespace hemera::python
