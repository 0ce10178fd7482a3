// Keys for a list of needs, which another party may have written.
#pragma once

#include <span>

#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// The security of the key of a need: of its modulus, and of the secret that it ends at.
Security security_of(const ContextPointer& context, const KeyNeed& need);

/// Throws unless keys can be made for these needs and are strong enough: ParameterError for a role that no
/// key has, a gadget that is none, and an ephemeral secret without the one key to it or the keys from it;
/// SecurityError for a key of fewer than `least` bits of security (0: any).
void require_needs(const ContextPointer& context, std::span<const KeyNeed> needs, int least = 0);

/// Whether a key of this role shares no randomness with keys of other roles.
bool is_made_alone(const KeyRole& role);
/// The key of a need that is made alone, in the making. SecurityError as by generate_needed_keys.
KeyMaker key_maker(const SecretKey& secret, const KeyNeed& need);

/// Keys for these needs alone; EvaluationKeys::merge joins them with others. Needs of an ephemeral secret
/// come together, and share a fresh one. Throws as require_needs, and SecurityError for a gadget that is
/// weaker than the parameters insist on.
EvaluationKeys generate_needed_keys(const SecretKey& secret, std::span<const KeyNeed> needs);

}  // namespace hemera::rlwe
