// Polynomials as sums of their parts, which are polynomials in a power of X; and keys from parts of a secret.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// Part 0 alone, f_0(X^d), of each f = sum over u < d of X^u f_u(X^d), d = `parts`; in the place of `f`,
/// which is in evaluation form over `base`. Throws ParameterError unless d is a power of two from 2 to N/64.
void keep_first_part(const Context& context, const poly::PolyView& f, std::size_t parts,
                     const poly::RnsBase& base);

/// The secret from which a key of parts starts: the part s_u(X^d) of the ciphertexts' secret s.
struct SecretPart {
  std::size_t parts = 2;  ///< d
  std::size_t index = 0;  ///< u

  friend bool operator==(const SecretPart&, const SecretPart&) = default;
};
/// Its key's role, which ends at the ciphertexts' secret; and the part of a role, if it is one.
KeyRole part_role(const SecretPart& part);
std::optional<SecretPart> part_of(const KeyRole& role);

/// The keys of these parts, all of one d, with this gadget. Throws ParameterError for parts of several d, or
/// unless d is a power of two from 2 to N/64.
std::vector<SwitchingKey> generate_part_keys(const SecretKey& secret, const std::vector<SecretPart>& parts,
                                             const GadgetPointer& gadget);

}  // namespace hemera::rlwe
