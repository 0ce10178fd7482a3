// Operations of all schemes, dispatched by the scheme of the context.
#pragma once

#include <memory>
#include <optional>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::any_scheme {

/// The evaluator of the context's scheme.
std::unique_ptr<rlwe::Evaluator> make_evaluator(
    const rlwe::ContextPointer& context, rlwe::EvaluationKeys keys,
    rlwe::Relinearization relinearization = rlwe::Relinearization::eager);

/// Encryption and decryption by the scheme of the plaintext or ciphertext; they throw as the scheme's own.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
/// Encrypts with the public key among the keys; throws MissingKeyError if there is none.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys);
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// Decryption that may be shown to others. CKKS needs `noise_bound` and floods (ckks::decrypt_for_sharing).
/// Ciphertexts of BFV and BGV carry their own bound: throws ParameterError if one is given, or shares other
/// than 1.
rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    std::optional<double> noise_bound, int statistical_bits,
                                    std::size_t shares = 1);

/// Remaining bits of noise, from the true noise and from the ciphertext's bound (bfv.hpp). Throws
/// ParameterError for CKKS, which has no budget.
double noise_budget(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);
double guaranteed_noise_budget(const rlwe::Ciphertext& ciphertext);

/// Marks a ciphertext of BFV or BGV whose guaranteed noise budget is spent (Metadata::spent), which its
/// copies, its parts and what is computed from it are then too. Returns whether that is news: false for one
/// that was marked before, for CKKS, and where no noise bound is known.
bool notice_spent_budget(rlwe::Ciphertext& ciphertext);

}  // namespace hemera::any_scheme
