// The inputs of captured circuits: operations that were recorded once and are replayed on other ciphertexts.
#pragma once

#include <string>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::rlwe {

/// Why a circuit that was captured with `example` is not right for `given`, in words ("its level is 2 and not
/// 3"); empty if it is: same batch, size, level, scale and encoding, and no more noise, so that the result's
/// metadata hold for it too.
std::string difference(const Ciphertext& example, const Ciphertext& given);

/// Copies the residues of `given` into an input of a captured circuit, which has the metadata of its example.
/// MismatchError for another context, or where they differ.
void assign_input(Ciphertext& input, const Ciphertext& given);

}  // namespace hemera::rlwe
