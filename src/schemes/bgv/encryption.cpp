#include "schemes/integer/encryption.hpp"

#include "hemera/schemes/bgv.hpp"
#include "schemes/bgv/rules.hpp"

namespace hemera::bgv {

using rlwe::Ciphertext;
using rlwe::Plaintext;

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::PublicKey& key) {
  return integer::encrypt(rules(), plaintext, key);
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::SecretKey& key) {
  return integer::encrypt(rules(), plaintext, key);
}

Plaintext decrypt(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::decrypt(rules(), ciphertext, key);
}

double measured_noise_log2(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::measured_noise_log2(rules(), ciphertext, key);
}

double noise_budget(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::noise_budget(rules(), ciphertext, key);
}

double guaranteed_noise_budget(const Ciphertext& ciphertext) {
  return integer::guaranteed_noise_budget(rules(), ciphertext);
}

Plaintext decrypt_for_sharing(const Ciphertext& ciphertext, const rlwe::SecretKey& key,
                              int statistical_bits) {
  return integer::decrypt_for_sharing(rules(), ciphertext, key, statistical_bits);
}

}  // namespace hemera::bgv
