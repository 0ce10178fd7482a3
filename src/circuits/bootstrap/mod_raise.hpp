// ModRaise: a ciphertext of the last level taken as one of a higher level.
#pragma once

#include <cstddef>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits {

/// The centred residues of `in`, of size 2 at level 0, as ones over `level`'s base: the message becomes m +
/// q_0 I. (J. H. Cheon, K. Han, A. Kim, M. Kim, Y. Song, 2018/153.) The scale stays. MismatchError for
/// another level or size.
rlwe::Ciphertext raise_modulus(const rlwe::Ciphertext& in, std::size_t level);

/// Switches `in` to the ephemeral secret, raises that, and switches back, not yet divided by P: |I| is small
/// as the ephemeral secret's weight. (J.-P. Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024, section
/// 3.) A gadget of one digit needs no ModUp, for residues are below q_0.
rlwe::ExtendedCiphertext mod_raise(const rlwe::Ciphertext& in, const rlwe::SwitchingKey& to_ephemeral,
                                   const rlwe::SwitchingKey& from_ephemeral, std::size_t level);

}  // namespace hemera::circuits
