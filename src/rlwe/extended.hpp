// Ciphertexts over Q u P, and the digits of their second components.
#pragma once

#include <cstddef>

#include "hemera/rlwe/hoisting.hpp"

namespace hemera::rlwe {

/// Throws MismatchError unless both are one gadget.
void require_gadget(const Gadget& a, const Gadget& b, const char* operation);

/// The digits of one component, in evaluation form over the extended base; of its quotient where `down`
/// divides it.
poly::Poly extended_digits(const Context& context, const poly::ConstPolyView& in, const poly::ModUp& up,
                           const poly::Division* down = nullptr);
/// The same of components over Q u P, which are divided by P first.
poly::Poly divided_digits(const Context& context, const Gadget& gadget, std::size_t level,
                          const poly::ConstPolyView& in);

/// A switch of components over the level's base and the digits of others, with the ciphertext's metadata.
ExtendedCiphertext switch_lifted(const ContextPointer& own, const SwitchingKey& key, const Metadata& meta,
                                 const poly::ConstPolyView& first, const poly::ConstPolyView& digits,
                                 std::uint64_t galois_element = 1);

/// The metadata after a key switch.
Metadata after_switch(const Context& context, const Gadget& gadget, Metadata meta);
/// The metadata of the product of an extended ciphertext, over `base`, and a plaintext.
Metadata factor_product(const Context& context, const Metadata& a, const Plaintext& b,
                        const poly::RnsBase& base);

}  // namespace hemera::rlwe
