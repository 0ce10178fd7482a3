// The inputs of captured circuits: operations that were recorded once and are replayed on other ciphertexts.
#pragma once

#include <string>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::rlwe {

/// Says in words why a circuit that was captured with `example` does not fit `given` ("its level is 2 and not
/// 3"). Empty if it fits: same batch, size, level, scale and encoding, and no more noise, so that the
/// result's metadata are right for `given` too.
std::string difference(const Ciphertext& example, const Ciphertext& given);

/// Copies the residues of `given` into an input of a captured circuit, which has the metadata of its example.
/// Throws MismatchError if the contexts differ, or `difference` is not empty.
void assign_input(Ciphertext& input, const Ciphertext& given);

}  // namespace hemera::rlwe
