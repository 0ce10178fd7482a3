// The message polynomial round(Q m / t) that BFV adds to an encryption of zero.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::bfv {

/// round(Q m / t) = (Q m - [Q m]_t) / t over the level's base, evaluation form; [batch, 1, limb, N].
poly::Poly scaled_message(const rlwe::Context& context, const rlwe::Plaintext& plaintext, std::size_t level,
                          runtime::Secrecy secrecy);

/// The same for one integer modulo t: residues, one a limb.
std::vector<std::uint64_t> scaled_scalar(const rlwe::Context& context, std::int64_t value, std::size_t level);

}  // namespace hemera::bfv
