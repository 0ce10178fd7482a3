// Sizes of many signed integers at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace hemera::arith {

/// Whether all values lie in (-bound, bound), 0 < bound < 2^62: without branches, as values may be secret,
/// and without comparisons, which 64-bit words have in few vector units.
inline bool all_within(std::span<const std::int64_t> values, std::uint64_t bound) {
  const std::uint64_t most = 2 * bound - 2;
  std::array<std::uint64_t, 8> signs{};
  const auto look = [&](std::int64_t value, std::uint64_t& sign) {
    const std::uint64_t shifted = static_cast<std::uint64_t>(value) + (bound - 1);
    sign |= shifted | (most - shifted);
  };
  std::size_t i = 0;
  for (; i + signs.size() <= values.size(); i += signs.size()) {
    for (std::size_t k = 0; k < signs.size(); ++k) look(values[i + k], signs[k]);
  }
  std::uint64_t any = 0;
  for (; i < values.size(); ++i) look(values[i], any);
  for (const std::uint64_t sign : signs) any |= sign;
  return (any >> 63) == 0;
}

}  // namespace hemera::arith
