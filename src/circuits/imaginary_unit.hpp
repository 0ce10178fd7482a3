// Products by i, which cost no level and no noise.
#pragma once

#include <cstddef>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::circuits {

/// X^(N/2) times `sign`, which is i or -i in every slot, without a scale.
rlwe::Plaintext imaginary_unit(const rlwe::ContextPointer& context, std::size_t level, int sign = 1);

/// i x, exactly, by the unit of x's level.
rlwe::Ciphertext times_i(const rlwe::Ciphertext& x, const rlwe::Plaintext& i);

}  // namespace hemera::circuits
