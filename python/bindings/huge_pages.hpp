// Large pages for large bytes objects.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace hemera::python {

/// Large pages, as NumPy has them for large arrays: faults of small pages take most of the time of a large
/// message or file.
inline void use_huge_pages(std::byte* content, std::size_t size) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
  const auto begin = reinterpret_cast<std::uintptr_t>(content);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + size) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // a hint
#else
  static_cast<void>(content);
  static_cast<void>(size);
#endif
}

}  // namespace hemera::python
