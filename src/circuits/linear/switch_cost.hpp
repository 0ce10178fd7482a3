// The cost of rotations by baby and giant steps, in words of memory traffic: how transforms choose them.
#pragma once

#include <cstddef>
#include <vector>

#include "circuits/circuit_gadgets.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// A switch reads two components of every digit's key; a giant step also divides and extends one component,
/// whose transforms count thrice.
struct SwitchCost {
  double baby, giant;
  /// A giant step compared with `baby` in time: as key products are fused, transforms count four times as
  /// much, on an H200 and on 16 threads of a CPU. Plans of one member are chosen by `giant`, as there are
  /// keys for them.
  double shared_giant;
  double input, result;  // the digits of a vector, and the division of a result
  double diagonal;       // a plaintext, and the two components that it multiplies

  SwitchCost(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget, std::size_t level) {
    const auto base = static_cast<double>(parameters.literal().levels[level].size());
    const double extended = base + static_cast<double>(gadget.special.size());
    const auto digits = static_cast<double>(rlwe::key_digits(gadget));
    baby = 2 * digits * extended;
    giant = baby + 3 * (digits + 1) * extended;
    shared_giant = baby + 12 * (digits + 1) * extended;
    input = 3 * digits * extended;
    result = 6 * extended;
    diagonal = 3 * extended;
  }
};

/// The gadgets that a transform with its own keys chooses from: the parameters', and those over the level's
/// primes alone. More special primes make fewer digits, and longer keys and plaintexts. One alone would leave
/// noise as large as that of the division (rotation_gadget), unless there is no other.
inline std::vector<rlwe::GadgetPrimes> own_gadgets(const rlwe::Parameters& parameters, std::size_t level) {
  std::vector<rlwe::GadgetPrimes> gadgets{parameters.default_gadget(level)};
  for (std::size_t special = 2; special <= most_special_primes_of_transforms; ++special) {
    rlwe::GadgetPrimes own = rotation_gadget(parameters, level, special);
    if (own != gadgets.back()) gadgets.push_back(std::move(own));
  }
  return gadgets;
}

}  // namespace hemera::circuits
