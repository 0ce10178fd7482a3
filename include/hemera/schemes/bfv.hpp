// BFV: exact arithmetic modulo t, the message in the high bits.
// Z. Brakerski, 2012/078; J. Fan, F. Vercauteren, 2012/144.
#pragma once

#include <memory>
#include <span>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "hemera/schemes/integer/evaluator.hpp"
#include "hemera/schemes/integer/parameters.hpp"

namespace hemera::bfv {

using CircuitRequest = integer::CircuitRequest;
using ChainRequest = integer::ChainRequest;

/// Parameters for a circuit: primes below 2^50, as many as the noise bound of the circuit needs
/// (docs/noise.md). ParameterError that says what does not fit.
rlwe::Parameters parameters_for(const CircuitRequest& request);

/// Parameters from sizes in bits of each prime.
rlwe::Parameters parameters_from_bits(const ChainRequest& request);

/// Encryption at the plaintext's level (the top one, as encoded), and back. MismatchError for objects of
/// another context or scheme. A decryption notes where less than one bit of the noise budget is left; nothing
/// is read back, so Encoder::decode, and whatever else takes it, then throws NoiseError. A net: noise that
/// wrapped looks uniform, and is found; one that is large in a few coefficients only can escape. Whoever
/// evaluates must not learn of the error (docs/security.md).
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// log2 of the largest coefficient of t (c(s) - Q m / t) modulo Q, over t: the noise that
/// Metadata::noise_log2 bounds. Needs the secret, and must not be told to others.
double measured_noise_log2(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);

/// Bits of noise that the worst ciphertext of the batch can still take before decryption fails, from the true
/// noise: log2 of the room over the noise, rounded down to an integer, 0 or more. Needs the secret, and must
/// not be told to others.
double noise_budget(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);
/// The budget that the ciphertext's own bound guarantees, 0 or more; never above the true one (except with
/// probability 2^-40). Needs no secret. Where it is 0 the decrypted values may be wrong.
double guaranteed_noise_budget(const rlwe::Ciphertext& ciphertext);

/// Decryption that may be shown to others. The result is exact, so nothing is added to it; NoiseError unless
/// the ciphertext's own noise bound (Metadata::noise_log2) leaves `statistical_bits` (>= 1) of budget. The
/// bound is a claim, so the noise is measured too: NoiseError also where less is left of the true budget.
rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    int statistical_bits);

class Evaluator final : public integer::Evaluator {
 public:
  /// Makes the plans of the context's multiplication variant for every level. Throws MismatchError for a
  /// context of another scheme.
  Evaluator(std::shared_ptr<const rlwe::Context> context, rlwe::EvaluationKeys keys,
            rlwe::Relinearization relinearization = rlwe::Relinearization::eager);
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
