// Limbs that are stored by fewer entries than they have (PolyShape).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::poly::cpu {

/// Entries first, first + 1, ... of a limb that is stored by one of each `run` (a power of two).
inline void repeat(std::span<std::uint64_t> out, const std::uint64_t* stored, std::size_t run,
                   std::size_t first = 0) {
  const std::size_t length = std::min(run, out.size());
  for (std::size_t i = 0; i < out.size(); i += length) {
    std::fill_n(out.data() + i, length, stored[(first + i) / run]);
  }
}

}  // namespace hemera::poly::cpu
