// The terms of one component of a tensor product.
#pragma once

#include <cstddef>

namespace hemera::multiply {

/// The pairs (i, j) with i + j = c: their first i and how many they are.
struct Diagonal {
  std::size_t first;
  std::size_t count;
};

/// The diagonal of `left` by `right` components.
inline Diagonal diagonal(std::size_t c, std::size_t left, std::size_t right) {
  const std::size_t first = c < right ? 0 : c - right + 1;
  return {first, (c < left ? c + 1 : left) - first};
}

}  // namespace hemera::multiply
