// Encryptions of zero, and decryption to the noisy message, for all schemes.
#pragma once

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// Fresh encryptions of zero at meta.level, size 2, for the given batch and metadata. A scheme adds its
/// message, or passes it as `message` (one component in evaluation form over the level's base).
/// - With the public key: (pk_0 u + e_0, pk_1 u + e_1), u ternary.
/// - With the secret key: (-a s + e, a), a from a public seed that the ciphertext keeps.
/// - Errors are multiplied by error_factor. Each call draws fresh seeds.
/// - meta.noise_log2 becomes the bound of a fresh encryption.
Ciphertext encrypt_zero(const PublicKey& key, Metadata meta, const poly::ConstPolyView& message = {});
Ciphertext encrypt_zero(const SecretKey& key, Metadata meta, const poly::ConstPolyView& message = {});

/// sum c_i s^i over the ciphertext's base, in the form asked for: message plus noise. The result is secret.
poly::Poly decrypt_phase(const Ciphertext& ciphertext, const SecretKey& key,
                         poly::Form form = poly::Form::coefficient);

}  // namespace hemera::rlwe
