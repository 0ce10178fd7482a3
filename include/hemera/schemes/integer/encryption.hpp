// Encryption, decryption and noise budgets of BFV and BGV: exact integers modulo t.
#pragma once

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::integer {

// The scheme, BFV or BGV, is that of the key or ciphertext. Every function throws MismatchError for objects
// of CKKS, and for a ciphertext and a key of two contexts.

/// Encryption at the plaintext's level (the top one, as encoded). Throws MismatchError for a plaintext of
/// another context.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
/// With the public key among the keys; throws MissingKeyError if there is none, as among those of a plan.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys);

/// Notes elements with less than one bit of noise budget left. It reads nothing back; Encoder::decode, or any
/// other use of the plaintext, then throws NoiseError. This is a net, not a guarantee: noise that wrapped is
/// found, noise that is large in a few coefficients only may not be. Whoever evaluates must not learn of the
/// error (docs/security.md).
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// The message of a phase that was found in another way than by a key, as by many parties: [batch, 1, limb,
/// N] in coefficient form over the base of meta.level. Doubtful elements are noted as above.
rlwe::Plaintext read_phase(const rlwe::ContextPointer& context, const rlwe::Metadata& meta,
                           const poly::Poly& phase);

/// The noise that Metadata::noise_log2 bounds. Needs the secret, and must not be shown to others.
///  - BFV: log2 of the largest coefficient of t (c(s) - Q m / t) modulo Q, over t.
///  - BGV: log2 of the largest coefficient of c(s) modulo Q, centred (message included).
double measured_noise_log2(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// Bits of noise that the worst ciphertext of the batch can still take before decryption fails, from the true
/// noise: log2 of the room over the noise, rounded down to an integer, 0 or more. Needs the secret, and must
/// not be shown to others.
double noise_budget(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// The budget that the ciphertext's own bound guarantees, 0 or more; never above the true one (except with
/// probability 2^-40). Needs no secret. Where it is 0 the decrypted values may be wrong.
double guaranteed_noise_budget(const rlwe::Ciphertext& ciphertext);

/// Marks a ciphertext whose guaranteed noise budget is spent: any_scheme::notice_spent_budget.
bool notice_spent_budget(rlwe::Ciphertext& ciphertext);

/// Decryption that may be shown to others. The result is exact, so nothing is added to it. Throws NoiseError
/// unless the ciphertext's own noise bound (Metadata::noise_log2) leaves `statistical_bits` (>= 1) of budget.
/// The bound is a claim, so the noise is measured too: throws NoiseError if less of the true budget is
/// left.
rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    int statistical_bits);

}  // namespace hemera::integer
