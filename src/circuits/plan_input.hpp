// How a ciphertext comes to the level where a plan begins.
#pragma once

#include <cstddef>

#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// The ciphertext of size 2, rescaled if it waits for that, and brought down to `level` if it is above:
/// itself, or a copy in `storage`.
const rlwe::Ciphertext& lowered_input(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                      std::size_t level, rlwe::Ciphertext& storage);

}  // namespace hemera::circuits
