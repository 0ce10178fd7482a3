// BFV: exact arithmetic modulo t, the message in the high bits.
// Z. Brakerski, 2012/078; J. Fan, F. Vercauteren, 2012/144.
#pragma once

#include <memory>
#include <span>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "hemera/schemes/integer/encryption.hpp"
#include "hemera/schemes/integer/evaluator.hpp"
#include "hemera/schemes/integer/parameters.hpp"

namespace hemera::bfv {

using Encoder = integer::Encoder;
using CircuitRequest = integer::CircuitRequest;
using ChainRequest = integer::ChainRequest;

/// Parameters for a circuit: primes below 2^50, as many as the noise bound of the circuit needs
/// (docs/noise.md). Throws ParameterError, which names the requirement that does not fit.
rlwe::Parameters parameters_for(const CircuitRequest& request);

/// Parameters from sizes in bits of each prime.
rlwe::Parameters parameters_from_bits(const ChainRequest& request);

/// The functions of hemera/schemes/integer/encryption.hpp, for this scheme.
inline rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
  return integer::encrypt(rlwe::Scheme::bfv, plaintext, key);
}
inline rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key) {
  return integer::encrypt(rlwe::Scheme::bfv, plaintext, key);
}
inline rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys) {
  return integer::encrypt(rlwe::Scheme::bfv, plaintext, keys);
}
inline rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::decrypt(rlwe::Scheme::bfv, ciphertext, key);
}
inline double measured_noise_log2(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::measured_noise_log2(rlwe::Scheme::bfv, ciphertext, key);
}
inline double noise_budget(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return integer::noise_budget(rlwe::Scheme::bfv, ciphertext, key);
}
inline double guaranteed_noise_budget(const rlwe::Ciphertext& ciphertext) {
  return integer::guaranteed_noise_budget(rlwe::Scheme::bfv, ciphertext);
}
inline rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                           int statistical_bits) {
  return integer::decrypt_for_sharing(rlwe::Scheme::bfv, ciphertext, key, statistical_bits);
}

class Evaluator final : public integer::Evaluator {
 public:
  /// Makes the plans of the context's multiplication variant for every level. Throws MismatchError for a
  /// context of another scheme.
  Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
            rlwe::Relinearization relinearization = rlwe::Relinearization::eager, Refresh refresh = {});
  ~Evaluator() override;

 protected:
  [[nodiscard]] double product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const override;
  [[nodiscard]] rlwe::Ciphertext sum_products(std::span<const rlwe::Factors> products, rlwe::Metadata meta,
                                              const rlwe::SwitchingKey* key) const override;

 private:
  struct Plans;
  std::unique_ptr<const Plans> plans_;
};

}  // namespace hemera::bfv
