#include "hemera/schemes/ckks.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::ckks {
namespace {

template <typename Key>
rlwe::Ciphertext encrypt_with(const rlwe::Plaintext& plaintext, const Key& key) {
  rlwe::require_filled(key, "encrypt");
  rlwe::require_scheme(*key.context, rlwe::Scheme::ckks, "encrypt");
  rlwe::require_plaintext(*key.context, plaintext, "encrypt");
  rlwe::Ciphertext result;
  rlwe::with_all_entries(*key.context, plaintext.poly, [&](const poly::ConstPolyView& message) {
    result = rlwe::encrypt_zero(key, plaintext.meta, message);
  });
  result.meta.noise_log2 = 0;
  return result;
}

}  // namespace

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys) {
  rlwe::require_filled(keys, "encrypt");
  return encrypt(plaintext, *keys.public_key);
}

rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_filled(ciphertext, "decrypt");
  rlwe::require_filled(key, "decrypt");
  rlwe::require_scheme(*ciphertext.context, rlwe::Scheme::ckks, "decrypt");
  return {key.context, ciphertext.meta, rlwe::decrypt_phase(ciphertext, key, poly::Form::evaluation)};
}

}  // namespace hemera::ckks
