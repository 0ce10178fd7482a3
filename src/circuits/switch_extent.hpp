// How many limbs the operations of a key switch go through.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/gadget.hpp"

namespace hemera::circuits {

/// A switch of a ciphertext at a level, by a key with a gadget that serves it.
struct SwitchExtent {
  std::size_t degree;
  std::size_t base;      ///< limbs of the level
  std::size_t extended;  ///< and with the special primes
  std::size_t digits;    ///< of a key, those that have primes of the level

  SwitchExtent(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget, std::size_t level)
      : degree(parameters.degree()), digits(0) {
    const auto& primes = parameters.literal().levels.at(level);
    base = primes.size();
    extended = base + gadget.special.size();
    for (const auto& digit : gadget.digits) {
      const bool is_there = std::any_of(digit.begin(), digit.end(), [&](std::uint64_t prime) {
        return std::find(primes.begin(), primes.end(), prime) != primes.end();
      });
      if (is_there) digits += rlwe::key_digits(digit, gadget.window_bits);
    }
  }

  [[nodiscard]] std::size_t special() const { return extended - base; }
  /// Whole switches: ModUp, inner product and division of two components.
  void add_switches(Work& work, std::size_t count) const {
    work.mod_ups += count * digits * extended;
    work.key_products += count * 2 * digits * extended;
    work.divisions += count * 2 * extended;
  }
  /// Of so many limbs.
  [[nodiscard]] std::size_t bytes(std::size_t limbs) const { return limbs * degree * sizeof(std::uint64_t); }
};

}  // namespace hemera::circuits
