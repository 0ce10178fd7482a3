// How often a raised ciphertext under an ephemeral secret, or a sum of several, has an integer that a sine
// does not cover.
#pragma once

#include <cstddef>

namespace hemera::circuits {

/// log2 of the density at `i` of the sum of weight + 1 uniforms on [-1/2, 1/2]: about the probability that a
/// coefficient of I is i, where a raised ciphertext under a secret of this weight is m + q_0 I (J.-P.
/// Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024, section 4). -inf outside the support.
/// - `pairs`: the number of coefficients of the secret that are 2 or -2; weight - 2 pairs are 1 or -1.
double overflow_log2(std::size_t i, std::size_t weight, std::size_t pairs = 0);

/// log2 of a bound on the probability that some of `coefficients` coefficients of I is `range` or more.
///
/// The secret is a sum of `terms` secrets, of `weight` in all, each at random places of a ring of `degree`.
/// Where two meet with one sign the sum has a 2, and I a heavier tail; with opposite signs it has a 0. Each
/// number of such places counts with its probability. A third one at such a place counts as a pair of its
/// own, whose tail is nearly the same.
double failure_log2(std::size_t range, std::size_t weight, std::size_t coefficients, std::size_t terms = 1,
                    std::size_t degree = 0);

/// The largest range of a sine.
inline constexpr std::size_t largest_sine_range = 128;
/// The range of a sine for a sum of `terms` ephemeral secrets of the usual weight: 16 of one; of more, the
/// least that 2^16 coefficients exceed with a probability of at most 2^-128. ParameterError, which names the
/// most terms, where that is beyond the largest range.
std::size_t sine_range_of(std::size_t terms);

}  // namespace hemera::circuits
