#include "hemera/schemes/any_scheme.hpp"

#include <utility>

#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::any_scheme {
namespace {

using rlwe::Scheme;

template <typename Key>
rlwe::Ciphertext encrypt_with(const rlwe::Plaintext& plaintext, const Key& key) {
  // Every key has a context; a plaintext may be empty, which the scheme reports.
  switch (key.context->scheme()) {
    case Scheme::bfv:
      return bfv::encrypt(plaintext, key);
    case Scheme::bgv:
      return bgv::encrypt(plaintext, key);
    default:
      return ckks::encrypt(plaintext, key);
  }
}

}  // namespace

std::unique_ptr<rlwe::Evaluator> make_evaluator(const std::shared_ptr<const rlwe::Context>& context,
                                                rlwe::EvaluationKeys keys,
                                                rlwe::Relinearization relinearization) {
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

rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  switch (key.context->scheme()) {
    case Scheme::bfv:
      return bfv::decrypt(ciphertext, key);
    case Scheme::bgv:
      return bgv::decrypt(ciphertext, key);
    default:
      return ckks::decrypt(ciphertext, key);
  }
}

}  // namespace hemera::any_scheme
