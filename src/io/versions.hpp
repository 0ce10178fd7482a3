// The first version of the format that can express an object.
#pragma once

#include <cstdint>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::io {

/// Periods that are stored once need version 2; the metadata may need version 2 or 3.
std::uint16_t version_of(const rlwe::Plaintext& plaintext);
/// The metadata may need version 2 or 3.
std::uint16_t version_of(const rlwe::Ciphertext& ciphertext);
/// Secrets that are not ternary need version 2.
std::uint16_t version_of(const rlwe::SecretKey& key);
/// Bases other than the context's need version 2.
std::uint16_t version_of(const rlwe::PublicKey& key);
/// Gadgets other than the context's default ones need version 2.
std::uint16_t version_of(const rlwe::SwitchingKey& key);
std::uint16_t version_of(const rlwe::Context& context, const rlwe::GadgetPointer& gadget);
/// Roles other than relinearization and Galois automorphisms, and several keys of one role, need version 2.
std::uint16_t version_of(const rlwe::EvaluationKeys& keys);

}  // namespace hemera::io
