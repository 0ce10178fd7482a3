// The search for parameters that BFV and BGV share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hemera/schemes/integer/parameters.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::integer {

/// Sizes of a chain of ciphertext primes of about 2^bits each, every prime at least that large.
struct ChainSize {
  std::size_t primes = 0;
  double bits = 0;
};

/// Chains that hold a circuit at a degree and plaintext modulus, fewest primes first; none if nothing does.
using ChainSizes = std::function<std::vector<ChainSize>(std::size_t degree, std::uint64_t plain_modulus)>;

/// The error's deviation in the parameters that are searched; secrets are those of the request.
inline constexpr double sigma = 3.19;
/// Bits kept between the noise bound of a circuit and the largest noise that decrypts.
inline constexpr double spare_bits = 1.5;

/// The noise of a result in its modulus: with the floodings of an opening if there is one.
double result_noise_log2(const Rules& rules, const std::optional<rlwe::Openings>& openings,
                         std::size_t degree, std::uint64_t plain_modulus, double noise_log2);

/// log2 of the least modulus of a last level: what t, the noise of modulus switching and openings need.
double last_level_log2(const Rules& rules, std::size_t degree, std::uint64_t plain_modulus,
                       const std::optional<rlwe::Openings>& openings = {});

/// Bounds of the size of a prime that a search may use: NTT primes of a degree are rare below the lower one.
double least_prime_bits(std::size_t degree);
inline constexpr double most_prime_bits = 48.8;
/// Bits of a chain beyond which a search stops: no degree in any table allows as many.
inline constexpr double most_chain_bits = 4000;

/// The smallest degree, then the fewest primes, then the fewest digits (two if possible, which is the
/// cheapest number) that hold the circuit and are as secure as asked for. Throws ParameterError or
/// SecurityError that says what is missing.
rlwe::Parameters search_parameters(const Rules& rules, const CircuitRequest& request,
                                   const ChainSizes& sizes);

/// Parameters of a chain given by sizes: the largest NTT primes below 2^bits each. ParameterError when there
/// are not enough.
rlwe::Parameters chain_parameters(const Rules& rules, const ChainRequest& request);

/// Noise of one key switch among `primes` ciphertext primes, whatever the digits, if the special primes are
/// no smaller than any of them (with the factor t of BGV if `plain_modulus` is not 0).
double expected_switching_noise_log2(std::size_t degree, std::size_t primes, std::uint64_t plain_modulus,
                                     const rlwe::SecretDistribution& secret = {});

}  // namespace hemera::integer
