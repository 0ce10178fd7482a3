#include "hemera/schemes/integer/encryption.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/integer/plaintext.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::integer {
namespace {

using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using rlwe::Scheme;
using runtime::Secrecy;

// Throws MismatchError for CKKS.
const Rules& checked_rules(const Context& context, const char* operation) {
  if (context.scheme() != Scheme::ckks) return rules_of(context.scheme());
  throw MismatchError(std::string(operation) + ": the context is for CKKS, not for BFV or BGV");
}

// The bits that this noise leaves.
double budget_of(const Ciphertext& ciphertext, double noise_log2, const char* operation) {
  rlwe::require_filled(ciphertext, operation);
  const Context& context = *ciphertext.context;
  return checked_rules(context, operation)
      .budget(context.base(ciphertext.meta.level).log2(), noise_log2, context.parameters().plain_modulus());
}

template <typename Key>
Ciphertext encrypt_with(const Plaintext& plaintext, const Key& key) {
  rlwe::require_filled(key, "encrypt");
  const Context& context = *key.context;
  const Rules& rules = checked_rules(context, "encrypt");
  rlwe::require_plaintext(context, plaintext, "encrypt");
  const rlwe::Metadata meta = context.scales().fresh(plaintext.meta);
  const poly::Poly message =
      place(context, plaintext, meta.level, rules.placement(context, meta), Secrecy::secret);
  Ciphertext result = rlwe::encrypt_zero(key, meta, message.view());
  // Beside the error e comes at most 1/2: of rounding the message (BFV), or of t e + m with |m| <= t / 2
  // (BGV).
  result.meta.noise_log2 = rlwe::add_log2(result.meta.noise_log2, -1) +
                           std::log2(static_cast<double>(rlwe::error_factor(context.parameters())));
  return result;
}

}  // namespace

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::EvaluationKeys& keys) {
  rlwe::require_filled(keys, "encrypt");
  return encrypt(plaintext, *keys.public_key);
}

Plaintext decrypt(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_filled(key, "decrypt");
  rlwe::require_filled(ciphertext, "decrypt");
  checked_rules(*key.context, "decrypt");
  rlwe::require_same_context(*ciphertext.context, *key.context, "decrypt");
  return read_phase(key.context, ciphertext.meta, rlwe::decrypt_phase(ciphertext, key));
}

Plaintext read_phase(const rlwe::ContextPointer& shared, const rlwe::Metadata& meta,
                     const poly::Poly& phase) {
  const Context& context = *shared;
  const Rules& rules = checked_rules(context, "decrypt");
  const std::size_t batch = phase.shape().batch;
  const std::size_t doubts = context.degree() / poly::coefficients_per_doubt;
  runtime::Buffer doubtful(context.memory(), batch * doubts * sizeof(std::int64_t), Secrecy::secret);
  Plaintext result{
      shared, meta,
      context.make_poly(batch, 1, context.plain_base(), poly::Form::coefficient, Secrecy::secret)};
  result.meta.noise_log2 = 0;
  result.meta.spent = false;
  result.meta.correction = 1;
  result.meta.noise_scale_degree = 1;
  rules.read_message(
      context, result.poly.view(), phase.view(), meta,
      {.data = reinterpret_cast<std::int64_t*>(doubtful.data()), .batch = batch, .count = doubts});
  result.doubtful = std::make_shared<const runtime::Buffer>(std::move(doubtful));
  return result;
}

double measured_noise_log2(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_filled(key, "noise_budget");
  rlwe::require_filled(ciphertext, "noise_budget");
  rlwe::require_same_context(*ciphertext.context, *key.context, "noise_budget");
  const std::uint64_t factor =
      checked_rules(*key.context, "noise_budget").noise_factor(key.context->parameters().plain_modulus());
  return rlwe::largest_coefficient_log2(*key.context, rlwe::decrypt_phase(ciphertext, key), factor) -
         std::log2(static_cast<double>(factor));
}

double noise_budget(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  const double measured = measured_noise_log2(ciphertext, key);
  return std::max(0.0, std::floor(budget_of(ciphertext, measured, "noise_budget")));
}

double guaranteed_noise_budget(const Ciphertext& ciphertext) {
  return std::max(0.0, budget_of(ciphertext, ciphertext.meta.noise_log2, "guaranteed_noise_budget"));
}

bool notice_spent_budget(Ciphertext& ciphertext) {
  rlwe::Metadata& meta = ciphertext.meta;
  if (meta.spent || meta.noise_log2 == rlwe::unknown_noise) return false;
  if (!rlwe::traits(ciphertext.context->scheme()).bounds_noise) return false;
  if (guaranteed_noise_budget(ciphertext) > 0) return false;
  meta.spent = true;
  return true;
}

Plaintext decrypt_for_sharing(const Ciphertext& ciphertext, const rlwe::SecretKey& key,
                              int statistical_bits) {
  const double budget = guaranteed_noise_budget(ciphertext);
  if (statistical_bits < 1) {
    throw ParameterError("decrypt_for_sharing: statistical_bits must be at least 1, not " +
                         std::to_string(statistical_bits));
  }
  if (budget < statistical_bits) {
    throw NoiseError("decrypt_for_sharing: the noise bound leaves " +
                     std::to_string(static_cast<int>(budget)) + " bits of budget, fewer than the " +
                     std::to_string(statistical_bits) +
                     " asked for; use parameters for a deeper circuit, or share fewer bits of security");
  }
  // The bound is a claim of whoever evaluated: the key's owner makes sure.
  const double truth = noise_budget(ciphertext, key);
  if (truth < statistical_bits) {
    throw NoiseError(
        "decrypt_for_sharing: the noise exceeds the ciphertext's own bound, which leaves fewer bits of "
        "budget than the " +
        std::to_string(statistical_bits) +
        " asked for: the bound is wrong, or the circuit was made to break it; show this result to nobody, "
        "nor this error");
  }
  return decrypt(ciphertext, key);
}

}  // namespace hemera::integer
