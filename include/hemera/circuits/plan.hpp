// What a circuit needs and costs: told before it runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits {

/// A switching key that a circuit uses: what it does, and its gadget.
struct KeyNeed {
  rlwe::KeyRole role;
  rlwe::GadgetPrimes gadget;

  friend bool operator==(const KeyNeed&, const KeyNeed&) = default;
};

/// What one evaluation of a circuit takes.
struct Cost {
  /// The level that it starts at, and the one of the result.
  std::size_t level = 0;
  std::size_t result_level = 0;
  std::size_t key_products = 0;    ///< inner products of digits with a key
  std::size_t mod_ups = 0;         ///< extensions of digits
  std::size_t divisions = 0;       ///< by P, with the rescale in it or not
  std::size_t plain_products = 0;  ///< products with plaintexts
  std::size_t key_bytes = 0;       ///< of all keys, in memory
  std::size_t plaintext_bytes = 0;
  std::size_t products = 0;  ///< of ciphertexts, before they are relinearized
  std::size_t rescales = 0;  ///< that are not part of a division by P
  /// Of ciphertexts in between, for each element of a batch; what one key switch needs comes on top.
  std::size_t workspace_bytes = 0;
  /// Scales of the inputs and of the result.
  double scale = 0;
  double result_scale = 0;

  /// Levels used.
  [[nodiscard]] std::size_t depth() const { return level - result_level; }
};

/// Errors that rounding leaves in the slots of a result: the root mean square of complex numbers, and that in
/// the worst place.
struct ExpectedError {
  double mean = 0;
  double worst = 0;
};

/// Bytes that keys for these needs take in memory.
std::size_t key_bytes(std::size_t degree, std::span<const KeyNeed> needs);

/// Keys for these needs alone; EvaluationKeys::merge joins them with others. SecurityError for a gadget that
/// is weaker than the parameters insist on.
rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret, std::span<const KeyNeed> needs);

}  // namespace hemera::circuits
