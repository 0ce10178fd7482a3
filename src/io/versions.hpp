// The first version of the format that can express a key.
#pragma once

#include <cstdint>

#include "hemera/rlwe/keys.hpp"

namespace hemera::io {

/// Secrets that are not ternary need version 2.
std::uint16_t version_of(const rlwe::SecretKey& key);
/// Bases other than the context's need version 2.
std::uint16_t version_of(const rlwe::PublicKey& key);
/// Gadgets other than the context's default ones need version 2.
std::uint16_t version_of(const rlwe::SwitchingKey& key);
/// Roles other than relinearization and Galois automorphisms, and several keys of one role, need version 2.
std::uint16_t version_of(const rlwe::EvaluationKeys& keys);

}  // namespace hemera::io
