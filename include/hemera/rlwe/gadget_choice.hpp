// The choice of digits and special primes for a set of ciphertext primes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hemera::rlwe {

struct GadgetChoice {
  std::vector<std::vector<std::uint64_t>> digits;
  std::vector<std::uint64_t> special_primes;
};

/// The fewest digits of consecutive primes (fewer digits: fewer transforms a key switch, but more special
/// primes), or exactly `digits` of them if that is not 0, such that the special primes exceed every digit by
/// `margin_bits` and log2(U P) is at most `max_log_modulus`. Special primes are the largest NTT primes that
/// `primes` and `taken` lack below 2^49 (transforms need fewer reductions there than up to 2^50), below 2^50
/// or below 2^60: the first of these bounds that all ciphertext primes keep. Empty when the modulus leaves no
/// choice.
std::optional<GadgetChoice> choose_gadget(std::size_t degree, std::span<const std::uint64_t> primes,
                                          double max_log_modulus, std::size_t digits = 0,
                                          std::span<const std::uint64_t> taken = {}, double margin_bits = 0);

}  // namespace hemera::rlwe
