#include "io/versions.hpp"

#include <algorithm>

#include "hemera/io/container.hpp"
#include "io/metadata.hpp"

namespace hemera::io {

namespace {

std::uint16_t version_of(const rlwe::Context& context, const rlwe::Metadata& meta) {
  return MessageFields{context.scheme(), meta, {}}.version();
}

}  // namespace

std::uint16_t version_of(const rlwe::Plaintext& plaintext) {
  const std::uint16_t least = plaintext.poly.is_whole() ? first_format : second_format;
  return std::max(least, version_of(*plaintext.context, plaintext.meta));
}

std::uint16_t version_of(const rlwe::Ciphertext& ciphertext) {
  return version_of(*ciphertext.context, ciphertext.meta);
}

std::uint16_t version_of(const rlwe::SecretKey& key) {
  return key.context->parameters().literal().secret.is_ternary() ? first_format : second_format;
}

std::uint16_t version_of(const rlwe::PublicKey& key) {
  return key.poly.base() == key.context->public_key_base() ? first_format : second_format;
}

std::uint16_t version_of(const rlwe::SwitchingKey& key) { return version_of(*key.context, key.gadget); }

std::uint16_t version_of(const rlwe::Context& context, const rlwe::GadgetPointer& gadget) {
  // Their primes are compared: a key may be that of another context of the same parameters.
  return gadget->primes() == context.gadget(gadget->highest_level())->primes() ? first_format : second_format;
}

std::uint16_t version_of(const rlwe::EvaluationKeys& keys) {
  KeyList list;
  std::uint16_t version = keys.public_key ? version_of(*keys.public_key) : first_format;
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) {
      list.roles.push_back(role);
      version = std::max(version, version_of(*key));
    }
  }
  return std::max(version, list.version());
}

}  // namespace hemera::io
