// ModRaise: a ciphertext of the last level taken as one of a higher level.
#pragma once

#include <cstddef>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits {

/// Switches `in`, at level 0, to the ephemeral secret, takes its centred residues for ones over `level`'s
/// base, and switches back with one digit, for they are below q_0. Then the message is m + q_0 I, with |I|
/// small as the ephemeral secret's weight, and the scale q_0 is set: slots are those of m / q_0 + I. (J.-P.
/// Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024, section 3.) MismatchError for another level or
/// size.
rlwe::Ciphertext mod_raise(const rlwe::Ciphertext& in, const rlwe::SwitchingKey& to_ephemeral,
                           const rlwe::SwitchingKey& from_ephemeral, std::size_t level);

}  // namespace hemera::circuits
