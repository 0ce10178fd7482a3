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

// The functions of hemera/schemes/integer/encryption.hpp: the scheme is that of the key or ciphertext.
using integer::decrypt;
using integer::decrypt_for_sharing;
using integer::encrypt;
using integer::guaranteed_noise_budget;
using integer::measured_noise_log2;
using integer::noise_budget;

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
