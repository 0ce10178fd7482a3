// What the schemes have in common, by the scheme of the context.
#pragma once

#include <memory>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::any_scheme {

/// The evaluator of the context's scheme.
std::unique_ptr<rlwe::Evaluator> make_evaluator(
    const std::shared_ptr<const rlwe::Context>& context, rlwe::EvaluationKeys keys,
    rlwe::Relinearization relinearization = rlwe::Relinearization::eager);

/// Encryption and decryption by the scheme of the plaintext or ciphertext; they throw what the scheme's own
/// throw.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

}  // namespace hemera::any_scheme
