// Bounds on noise (docs/noise.md), as log2 of the largest coefficient's magnitude. They hold except with
// probability 2^-40 a ciphertext, for every secret and key.
#pragma once

#include <cstddef>

#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// log2(2^a + 2^b): the bound of a sum.
double add_log2(double a, double b);

/// How many deviations a subgaussian coefficient stays below for all of N coefficients, but for probability
/// 2^-40: sqrt(2 ln(2 N 2^40)).
double tail_factor(std::size_t degree);

/// Noise of a fresh encryption, without the factor t of BGV.
double fresh_noise_log2(const Context& context, bool with_public_key);

/// Noise that one key switch adds at `level`, with the factor t of BGV.
double switching_noise_log2(const Context& context, std::size_t level);

}  // namespace hemera::rlwe
