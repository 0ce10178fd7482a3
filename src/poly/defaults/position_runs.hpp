// Positions of limbs, by their runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hemera::poly {

/// Calls body(first, position, count) for each longest run first, first + 1, ... whose positions follow each
/// other.
template <typename Body>
void for_each_run(const std::vector<std::uint32_t>& positions, const Body& body) {
  for (std::size_t first = 0; first < positions.size();) {
    std::size_t count = 1;
    while (first + count < positions.size() && positions[first + count] == positions[first] + count) ++count;
    body(first, std::size_t{positions[first]}, count);
    first += count;
  }
}

}  // namespace hemera::poly
