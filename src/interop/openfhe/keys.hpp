// Keys of OpenFHE and of Hemera. Both switch first and apply the automorphism after, so that the residues are
// the same.
#pragma once

#include <memory>
#include <optional>

#include "hemera/rlwe/keys.hpp"
#include "interop/openfhe/client.hpp"
#include "interop/openfhe/objects.hpp"
#include "interop/openfhe/polynomials.hpp"

namespace hemera::interop::openfhe {

rlwe::PublicKey to_public_key(const rlwe::ContextPointer& context, const PublicKeyObject& object);
rlwe::SecretKey to_secret_key(const rlwe::ContextPointer& context, const PrivateKeyObject& object);
/// The key in a context with these parameters.
rlwe::SwitchingKey to_switching_key(const rlwe::ContextPointer& context, const CryptoParameters& parameters,
                                    const SwitchingKeyView& key);
SwitchingKeyView view_of(const EvaluationKeyObject& object);

/// The role of the key under this automorphism index: even ones are those to and from the sparse secret that
/// bootstrapping encapsulates.
rlwe::KeyRole role_of(std::uint32_t index, std::size_t degree);
/// Whether it is the index of the key to the sparse secret.
constexpr bool is_to_sparse_secret(std::uint32_t index, std::size_t degree) {
  return index == 2 * degree - 4;
}
/// The inverse; empty for roles that no index stands for.
std::optional<std::uint32_t> index_of(const rlwe::KeyRole& role, std::size_t degree);

std::shared_ptr<PublicKeyObject> from_public_key(const rlwe::PublicKey& key, CryptoObject header);
std::shared_ptr<PrivateKeyObject> from_secret_key(const rlwe::SecretKey& key, CryptoObject header);
std::shared_ptr<EvaluationKeyObject> from_switching_key(const rlwe::SwitchingKey& key, CryptoObject header,
                                                        BaseParameters& parameters);

}  // namespace hemera::interop::openfhe
