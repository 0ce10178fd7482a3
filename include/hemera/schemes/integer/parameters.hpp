// Requests from which parameters of BFV and BGV are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemera/rlwe/flooding.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::integer {

/// The user's requirements of a circuit.
struct CircuitRequest {
  /// Multiplications one after the other (of ciphertexts, or of a ciphertext by a plaintext in slots).
  std::size_t depth = 1;
  /// Bits of the plaintext modulus (a prime t = 1 mod 2N is searched), or the modulus itself.
  int plain_bits = 20;
  std::uint64_t plain_modulus = 0;
  /// Slots needed, at most N. More than one: the plaintext modulus must have them (rlwe::integer_slots).
  std::size_t slots = 1;
  /// Products (or rotated copies) that are added up after each multiplication; at depth 0 encryptions.
  std::size_t terms = 16;
  /// Digits of key-switching; 0: chosen.
  std::size_t digits = 0;
  /// Least degree; 0: the smallest that is secure and has the slots.
  std::size_t degree = 0;
  std::optional<int> security = 128;
  /// Results are opened by many parties: room for their floodings at every level, and a secret of as many
  /// terms as there are pieces.
  std::optional<rlwe::Openings> openings = std::nullopt;

  [[nodiscard]] rlwe::SecretDistribution secret() const { return {.terms = openings ? openings->pieces : 1}; }
};

/// A modulus chain by sizes: bits of each ciphertext prime (the last level's first) and special prime. The
/// last level gets as many of the first primes as t and the noise of modulus switching need; every other
/// level one more.
struct ChainRequest {
  std::size_t degree = 0;
  std::uint64_t plain_modulus = 0;
  std::vector<int> prime_bits;
  std::vector<int> special_bits;
  /// Digits of key-switching; 0: as many primes each as fit under the special ones.
  std::size_t digits = 0;
  std::optional<int> security = 128;
};

}  // namespace hemera::integer
