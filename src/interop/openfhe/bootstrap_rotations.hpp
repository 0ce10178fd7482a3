// The rotations of OpenFHE's bootstraps: how layers are shared among matrices, and each matrix's diagonals
// among baby and giant steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemera/circuits/linear/linear_transform.hpp"

namespace hemera::interop::openfhe {

/// How OpenFHE shares log2(slots) layers among the levels of a budget.
struct Layers {
  std::size_t each = 0;
  std::size_t rows = 0;
  std::size_t rest = 0;

  Layers(std::size_t log_slots, std::size_t budget) {
    const auto share = [&](std::size_t size) {
      each = size;
      rows = log_slots / each;
      rest = log_slots % each;
    };
    share((log_slots + budget - 1) / budget);
    if (count() < budget) {
      share(each - 1);
      while (count() > budget) {
        --rows;
        rest = log_slots - rows * each;
      }
    }
  }
  [[nodiscard]] std::size_t count() const { return rows + (rest != 0 ? 1 : 0); }
  [[nodiscard]] std::vector<std::size_t> stages() const {
    std::vector<std::size_t> result(rows, each);
    if (rest != 0) result.push_back(rest);
    return result;
  }
};

/// OpenFHE's own choice for a matrix of this many layers.
std::int64_t baby_steps(std::size_t layers);

/// A stage's rotations: (first + j) stride for j < count, modulo the number of slots or not, and outer ones
/// by multiples of count stride.
struct Split {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::int64_t outer = 1;
  std::int64_t stride = 1;
  bool is_reduced = false;
};

std::size_t modulo(std::int64_t a, std::size_t m);

/// How the values that a stage reads lie: `slots` of them, or real and imaginary parts one after the other,
/// which it takes together or makes.
enum class Parts : std::uint8_t { whole, makes_parts, takes_parts };

/// A stage over all slots of the ring, where what repeats may be turned by either of several numbers.
struct Stage {
  circuits::Diagonals matrix;
  circuits::RotationSteps steps;
};

/// With `pending` the stage reads values that are still to be turned by it. It takes rotations from 0 on, by
/// one giant key, and adds to `pending` the one that its result is still to be turned by. Throws
/// ParameterError if the steps do not reach all diagonals.
Stage make_stage(const circuits::Diagonals& matrix, std::size_t slots, std::size_t ring_slots,
                 const Split& split, Parts parts, double factor, std::int64_t* pending);

}  // namespace hemera::interop::openfhe
