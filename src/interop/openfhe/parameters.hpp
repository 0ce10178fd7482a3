// Parameters of Hemera for a crypto context of OpenFHE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/parameters.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// Primes with their roots.
using RootedPrimes = std::vector<NativeParameters>;

/// Primes of keys that a crypto context does not have.
struct KeyPrimes {
  /// P of HYBRID; those of OpenFHE's rule without a key.
  std::optional<RootedPrimes> special;
  /// Primes of the key to an encapsulated secret that are not in P: OpenFHE has them since 1.6.1.
  RootedPrimes auxiliary;
};

/// Parameters whose objects are those of the context, and whose rescaling policy is its scaling technique.
/// Level 0 is the smallest base that the plaintext modulus fits under. Special primes are those given, or
/// follow by the rule of OpenFHE 1.4 and 1.5: as many as the largest digit needs of the auxiliary bits, the
/// largest first. (1.6.1 has one more where that leaves no bit of them over.)
/// FormatError for a context that is none, or that uses what Hemera does not have: composite scaling,
/// several parties, scheme switching.
rlwe::Parameters parameters_of(const CryptoContext& context, const KeyPrimes& primes = {});

/// Whether objects of one context are objects of the other: both compute in one ring with one gadget by the
/// same rules. What only says how to set up or use them may differ.
bool is_same_context(const CryptoContext& a, const CryptoContext& b);

/// The moduli of public keys: those of ciphertexts and, for BFV's EXTENDED encryption, the next prime below
/// the last one.
std::vector<std::uint64_t> public_key_primes(const CryptoContext& context);

/// How many moduli an object at level 0 of Hemera has.
std::size_t least_limbs(const rlwe::Parameters& parameters);

/// The digits of a switching key over these of the context's primes.
std::vector<std::vector<std::uint64_t>> digits_of(const CryptoParameters& parameters,
                                                  std::span<const std::uint64_t> primes);

}  // namespace hemera::interop::openfhe
