// Sizes of the blocks that memory pools keep.
#pragma once

#include <cstddef>

namespace hemera::runtime {

/// Up to a page the next multiple of `step`; above, one of eight classes per power of two, so that a block
/// fits the next request of about its size and at most an eighth is lost. At least `step`.
inline std::size_t size_class(std::size_t bytes, std::size_t step) {
  constexpr std::size_t page = 4096;
  std::size_t power = page;
  while (power * 2 < bytes) power *= 2;
  if (bytes > page) step = power / 8;
  return bytes == 0 ? step : (bytes + step - 1) / step * step;
}

}  // namespace hemera::runtime
