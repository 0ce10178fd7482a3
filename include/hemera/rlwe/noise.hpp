// Bounds on noise (docs/noise.md), as log2 of the largest coefficient's magnitude. They hold except with
// probability 2^-40 a ciphertext, for every secret and key; and the exact measure of it with the secret key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// log2(2^a + 2^b): the bound of a sum; unknown_noise if a or b is.
double add_log2(double a, double b);

/// Metadata::noise_log2 of a sum of ciphertexts with the bounds a and b; 0 if the scheme keeps no bound.
double sum_noise_log2(const Context& context, double a, double b);

/// Standard deviations that none of N subgaussian coefficients exceeds, except with probability 2^-40: sqrt(2
/// ln(2 N 2^40)).
double tail_factor(std::size_t degree);
/// The same for another probability, 2^failure_log2.
double tail_factor(std::size_t degree, double failure_log2);

/// Noise of a fresh encryption, without error_factor.
double fresh_noise_log2(const Context& context, bool with_public_key);
/// The same with a public key over `key_base` at `level`.
double fresh_noise_log2(const Context& context, std::size_t level, const poly::RnsBase& key_base);
/// `terms`: SecretDistribution::terms.
double fresh_noise_log2(std::size_t degree, double sigma, bool with_public_key, std::size_t terms = 1);

/// Noise that one key switch adds at `level`, with error_factor: by this gadget's key, or the default one's.
double switching_noise_log2(const Context& context, const Gadget& gadget, std::size_t level);
double switching_noise_log2(const Context& context, std::size_t level);
/// The same of a relinearization key. Many parties make theirs in two rounds, with the error s E_0 + u E_1 +
/// E_2 (2020/304): more than that of other keys.
double product_switching_noise_log2(const Context& context, const Gadget& gadget, std::size_t level);
/// log2 of the factor by which that error exceeds that of other keys; 0 for a secret of one term.
double product_key_factor_log2(std::size_t degree, const SecretDistribution& secret);

/// log2 of a bound on the Euclidean norm of the coefficients of a secret.
double secret_norm_log2(std::size_t degree, const SecretDistribution& secret);

/// log2 of a bound on |s(z)| at all roots z of X^N + 1 (the canonical embedding): multiplying by s makes no
/// polynomial's Euclidean norm grow by more.
double secret_embedding_log2(std::size_t degree, const SecretDistribution& secret);

/// Noise of rounding every component of a ciphertext of `size` components, each coefficient off by a
/// uniform value of [-half_range, half_range].
double rounding_noise_log2(std::size_t degree, const SecretDistribution& secret, std::size_t size,
                           double half_range);

/// Factor by which a product with a plaintext polynomial of coefficients in [-t/2, t/2] makes noise grow at
/// most: N t/2, whatever the polynomial. It may have been chosen for that, in slots as in coefficients.
double plaintext_factor_log2(std::size_t degree, std::uint64_t plain_modulus);

/// The least bound that a ciphertext may have, of BFV and BGV (0 otherwise): that of a fresh encryption with
/// the secret key, or what a modulus switch leaves where that is less.
double least_noise_log2(const Context& context);

/// log2 of max(1, w) for the largest magnitude w of a coefficient of factor * x modulo the product Q of the
/// base, centred; x: [batch, 1, limb, N] over `base` in coefficient form. Exact but for the logarithm, which
/// is rounded up. The host copy is zeroed: x is what a secret key opened.
double largest_coefficient_log2(const Context& context, const poly::Poly& x, std::uint64_t factor);

}  // namespace hemera::rlwe
