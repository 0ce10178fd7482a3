// Where the diagonals of a matrix begin, counted around the slots.
#pragma once

#include <cstddef>
#include <iterator>

namespace hemera::circuits {

/// The key of a map (not empty, keys below `slots`) after the widest gap between keys, modulo the slots: the
/// first of those that are alike.
template <typename Map>
std::size_t after_widest_gap(const Map& map, std::size_t slots) {
  std::size_t start = map.begin()->first;
  std::size_t widest = start + slots - map.rbegin()->first;
  for (auto next = std::next(map.begin()); next != map.end(); ++next) {
    const std::size_t gap = next->first - std::prev(next)->first;
    if (gap <= widest) continue;
    widest = gap;
    start = next->first;
  }
  return start;
}

}  // namespace hemera::circuits
