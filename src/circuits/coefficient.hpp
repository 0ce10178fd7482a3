// Numbers by slot: one for all slots, or one for each.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace hemera::circuits {

inline std::complex<double> in_slot(const std::vector<std::complex<double>>& numbers, std::size_t slot) {
  return numbers.size() == 1 ? numbers.front() : numbers[slot];
}

inline bool is_zero(const std::vector<std::complex<double>>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](const auto& number) { return number == 0.0; });
}

/// One real number for all slots.
inline bool is_real_number(const std::vector<std::complex<double>>& numbers) {
  return numbers.size() == 1 && numbers.front().imag() == 0;
}

/// The shortest row, of a power of two, that the numbers repeat; there are as many as a power of two.
template <typename Number>
std::span<const Number> period_of(std::span<const Number> numbers) {
  while (numbers.size() > 1) {
    const std::size_t half = numbers.size() / 2;
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(half);
    if (!std::equal(numbers.begin(), middle, middle)) break;
    numbers = numbers.first(half);
  }
  return numbers;
}

}  // namespace hemera::circuits
