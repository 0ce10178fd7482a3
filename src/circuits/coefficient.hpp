// Numbers by slot: one for all slots, or one for each.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <vector>

namespace hemera::circuits {

inline std::complex<double> in_slot(const std::vector<std::complex<double>>& numbers, std::size_t slot) {
  return numbers.size() == 1 ? numbers.front() : numbers[slot];
}

inline bool is_zero(const std::vector<std::complex<double>>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](const auto& number) { return number == 0.0; });
}

}  // namespace hemera::circuits
