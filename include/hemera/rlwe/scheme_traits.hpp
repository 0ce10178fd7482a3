// The differences between schemes, as data, for the code that all schemes share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::rlwe {

struct SchemeTraits {
  /// Slots are two rows of N/2, however many hold values. Otherwise they are one row, which repeats when
  /// fewer than N/2 hold values.
  bool two_rows = false;
  /// The effect of the Galois element 2N - 1 on slots, in words.
  const char* conjugation = "";
  /// Whether ciphertexts carry a bound on their noise (Metadata::noise_log2).
  bool bounds_noise = false;
  /// Whether errors are multiples of the plaintext modulus.
  bool errors_are_multiples = false;
};

/// The same object for each call.
const SchemeTraits& traits(Scheme scheme);

/// The factor of errors: t or 1.
std::uint64_t error_factor(const Parameters& parameters);

/// Rotations by steps that are equal modulo this number are equal, for ciphertexts that hold `slots` values.
std::size_t rotation_period(const Parameters& parameters, std::size_t slots);

}  // namespace hemera::rlwe
