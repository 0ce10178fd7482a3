// Gadgets for keys of a single level of a circuit.
#pragma once

#include <cstddef>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// Special primes of a circuit's key, at most.
inline constexpr std::size_t most_special_primes = 10;

/// Of the ephemeral secrets that ciphertexts are raised under.
inline constexpr std::size_t ephemeral_weight = 32;

/// Over the level's primes and as many of the parameters' special and key primes as the security asked for
/// leaves room for, but at most `most` and one more than the level has. ParameterError where there is none.
///
/// For rotations, digits are a prime shorter than P, as the noise of their switch is not divided by anything
/// after it; for products, which are rescaled, they are as long as P.
rlwe::GadgetPrimes rotation_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most);
rlwe::GadgetPrimes product_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most);

/// To an ephemeral secret at level 0, with one special prime, and back at `level`: the second one's digit is
/// the whole base, for what is raised is below q_0.
rlwe::GadgetPrimes to_ephemeral_gadget(const rlwe::Parameters& parameters);
rlwe::GadgetPrimes from_ephemeral_gadget(const rlwe::Parameters& parameters, std::size_t level);

}  // namespace hemera::circuits
