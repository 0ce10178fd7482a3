// BGV: exact arithmetic modulo t, the message in the low bits.
// Z. Brakerski, C. Gentry, V. Vaikuntanathan, 2011/277; RNS and correction factors: A. Kim, Y. Polyakov,
// V. Zucca, "Revisiting homomorphic encryption schemes for finite fields", 2021/204.
#pragma once

#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "hemera/schemes/integer/encryption.hpp"
#include "hemera/schemes/integer/evaluator.hpp"
#include "hemera/schemes/integer/parameters.hpp"

namespace hemera::bgv {

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
  /// Throws MismatchError for a context of another scheme.
  Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
            rlwe::Relinearization relinearization = rlwe::Relinearization::eager, Refresh refresh = {});

 protected:
  /// If factors differ, multiplies both operands by small integers.
  [[nodiscard]] rlwe::ScaleWays balanced(const rlwe::Metadata& a, const rlwe::Metadata& b) const override;
  /// Automatic mode: the level that keeps the largest budget (docs/bgv.md).
  [[nodiscard]] std::optional<std::size_t> product_level(const rlwe::Metadata& a,
                                                         const rlwe::Metadata& b) const override;
  [[nodiscard]] double product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const override;

 private:
  std::vector<double> log_moduli_;  // log2 Q, [level]
};

}  // namespace hemera::bgv
