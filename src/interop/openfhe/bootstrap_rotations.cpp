#include "interop/openfhe/bootstrap_rotations.hpp"

#include <algorithm>
#include <complex>
#include <set>

#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {

using Number = std::complex<double>;

std::int64_t baby_steps(std::size_t layers) {
  const bool many = (std::size_t{2} << layers) - 1 > 7;
  return std::int64_t{1} << (layers / 2 + 1 + (many ? 1 : 0));
}

std::size_t modulo(std::int64_t a, std::size_t m) {
  const auto modulus = static_cast<std::int64_t>(m);
  return static_cast<std::size_t>((a % modulus + modulus) % modulus);
}

Stage make_stage(const circuits::Diagonals& matrix, std::size_t slots, std::size_t ring_slots,
                 const Split& split, Parts parts, double factor, std::int64_t* pending) {
  const std::size_t width = parts == Parts::whole ? slots : 2 * slots;
  Stage stage;
  const std::int64_t offset = pending == nullptr ? 0 : split.first * split.stride;
  if (pending != nullptr) {
    *pending += offset;
    stage.steps.giant_unit = static_cast<std::size_t>(split.count * split.stride);
  }
  std::vector<std::int64_t> inner;
  for (std::int64_t j = 0; j < split.count; ++j) {
    const std::int64_t rotation = (split.first + j) * split.stride;
    const bool is_reduced = split.is_reduced && pending == nullptr;
    inner.push_back(is_reduced ? static_cast<std::int64_t>(modulo(rotation, slots)) : rotation);
    stage.steps.baby.push_back(modulo(inner.back() - offset, ring_slots));
  }
  std::set<std::size_t> taken;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    const std::int64_t outer = o * split.count * split.stride;
    // Rotations from 0 on reach every diagonal before they have gone round.
    if (pending != nullptr && outer >= static_cast<std::int64_t>(slots)) break;
    stage.steps.giant.push_back(modulo(outer, ring_slots));
    for (const std::int64_t j : inner) {
      const std::int64_t rotation = outer + j;
      const auto diagonal = matrix.find(modulo(rotation, slots));
      if (diagonal == matrix.end() || !taken.insert(diagonal->first).second) continue;
      std::vector<Number> values(ring_slots);
      for (std::size_t k = 0; k < ring_slots; ++k) {
        values[k] = factor * diagonal->second[k % slots];
        // The second half of the rows makes imaginary parts; the second half of the columns holds them.
        if (parts == Parts::makes_parts && k % width >= slots) values[k] *= Number(0, -1);
        if (parts == Parts::takes_parts && modulo(static_cast<std::int64_t>(k) + rotation, width) >= slots) {
          values[k] *= Number(0, 1);
        }
      }
      if (pending != nullptr) {
        std::rotate(values.begin(),
                    values.begin() + static_cast<std::ptrdiff_t>(modulo(-*pending, ring_slots)),
                    values.end());
      }
      stage.matrix[modulo(rotation - offset, ring_slots)] = std::move(values);
    }
  }
  if (taken.size() != matrix.size()) {
    throw ParameterError("bootstrap: the settings have too few baby steps for their budgets");
  }
  return stage;
}

}  // namespace hemera::interop::openfhe
