#include "hemera/schemes/any_scheme.hpp"

#include <utility>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encryption.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::any_scheme {
namespace {

using rlwe::Scheme;

template <typename Key>
rlwe::Ciphertext encrypt_with(const rlwe::Plaintext& plaintext, const Key& key) {
  rlwe::require_filled(key, "encrypt");
  return key.context->scheme() == Scheme::ckks ? ckks::encrypt(plaintext, key)
                                               : integer::encrypt(plaintext, key);
}

}  // namespace

std::unique_ptr<rlwe::Evaluator> make_evaluator(const rlwe::ContextPointer& context,
                                                rlwe::EvaluationKeys keys,
                                                rlwe::Relinearization relinearization) {
  rlwe::require_filled(context, "Evaluator");
  switch (context->scheme()) {
    case Scheme::bfv:
      return std::make_unique<bfv::Evaluator>(context, std::move(keys), relinearization);
    case Scheme::bgv:
      return std::make_unique<bgv::Evaluator>(context, std::move(keys), relinearization);
    default:
      return std::make_unique<ckks::Evaluator>(context, std::move(keys), relinearization);
  }
}

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys) {
  return encrypt_with(plaintext, keys);
}

rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_filled(key, "decrypt");
  return key.context->scheme() == Scheme::ckks ? ckks::decrypt(ciphertext, key)
                                               : integer::decrypt(ciphertext, key);
}

rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    std::optional<double> noise_bound, int statistical_bits,
                                    std::size_t shares) {
  rlwe::require_filled(key, "decrypt_for_sharing");
  const Scheme scheme = key.context->scheme();
  if (scheme == Scheme::ckks) {
    if (!noise_bound) {
      throw ParameterError(
          "decrypt_for_sharing: CKKS needs noise_bound, a worst-case bound of the circuit on the error of a "
          "slot");
    }
    return ckks::decrypt_for_sharing(ciphertext, key, *noise_bound, statistical_bits, shares);
  }
  if (shares != 1) {
    throw ParameterError("decrypt_for_sharing: " + rlwe::name(scheme) +
                         " takes no shares; for Q results, which are exact, add log2(Q) statistical_bits");
  }
  if (noise_bound) {
    throw ParameterError("decrypt_for_sharing: " + rlwe::name(scheme) +
                         " takes no noise_bound; a ciphertext carries its own bound");
  }
  return integer::decrypt_for_sharing(ciphertext, key, statistical_bits);
}

double noise_budget(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_filled(key, "noise_budget");
  if (key.context->scheme() == Scheme::ckks) {
    throw ParameterError("noise_budget: CKKS results are approximate and have no budget; " +
                         Message(WayOut::precision, "compare with the clear result"));
  }
  return integer::noise_budget(ciphertext, key);
}

double guaranteed_noise_budget(const rlwe::Ciphertext& ciphertext) {
  rlwe::require_filled(ciphertext, "guaranteed_noise_budget");
  if (ciphertext.context->scheme() == Scheme::ckks) {
    throw ParameterError("guaranteed_noise_budget: CKKS results are approximate and have no budget");
  }
  return integer::guaranteed_noise_budget(ciphertext);
}

bool notice_spent_budget(rlwe::Ciphertext& ciphertext) {
  rlwe::require_filled(ciphertext, "notice_spent_budget");
  return ciphertext.context->scheme() != Scheme::ckks && integer::notice_spent_budget(ciphertext);
}

}  // namespace hemera::any_scheme
