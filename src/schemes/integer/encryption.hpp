// Encryption and decryption of integers modulo t, by the rules of the scheme. The schemes' headers say what
// each function gives and throws.
#pragma once

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::integer {

rlwe::Ciphertext encrypt(const Rules& rules, const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const Rules& rules, const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
rlwe::Plaintext decrypt(const Rules& rules, const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

double measured_noise_log2(const Rules& rules, const rlwe::Ciphertext& ciphertext,
                           const rlwe::SecretKey& key);
double noise_budget(const Rules& rules, const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);
double guaranteed_noise_budget(const Rules& rules, const rlwe::Ciphertext& ciphertext);

rlwe::Plaintext decrypt_for_sharing(const Rules& rules, const rlwe::Ciphertext& ciphertext,
                                    const rlwe::SecretKey& key, int statistical_bits);

}  // namespace hemera::integer
