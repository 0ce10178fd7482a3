// The engines behind poly::RingMultiplier, by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "hemera/poly/ring_multiplier.hpp"

namespace hemera::multiply {

/// "ntt", "dgt", "kronecker_ss", "schoolbook".
std::span<const std::string_view> engine_names();

/// The engine of a name; throws ParameterError for any other name.
///  - ntt: the CPU backend's number-theoretic transforms.
///  - dgt: discrete Galois transforms of length N/2 (galois_transform.hpp). Moduli must be prime and 1 modulo
///  2N, or 3 modulo 4 and -1 modulo N.
///  - kronecker_ss: one integer product a limb (kronecker.hpp, integer.hpp), limbs in parallel. Any moduli.
///  - schoolbook: N^2 products a limb, the oracle of the tests. Any moduli.
/// An engine's tables of a modulus are kept for as long as the engine lives.
std::shared_ptr<const poly::RingMultiplier> make_ring_multiplier(std::string_view name);

}  // namespace hemera::multiply
