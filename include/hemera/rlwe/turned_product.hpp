// The product of a ciphertext and its image under an automorphism, by one key switch.
#pragma once

#include <cstdint>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// The two keys of a product, of one gadget.
struct TurnedProductKeys {
  const SwitchingKey* galois = nullptr;   ///< of KeyRole::galois(g)
  const SwitchingKey* product = nullptr;  ///< of KeyRole::turned_product(g)
};

/// c phi(c), times P, over Q u P, of the components of a ciphertext of size 2; mod_down or mod_down_rescaled
/// ends it. `meta`: that of the product, at the level of c.
///
/// With y = phi^-1(c), under phi^-1(s), the product c y is y_0 c_0 + y_1 c_0 phi^-1(s) + y_0 c_1 s + y_1 c_1
/// s phi^-1(s): the last two are split into digits at once, both keys end at phi^-1(s), and phi leads from c
/// y to c phi(c). A rotation and a product take two switches, and one division more.
///
/// Throws MismatchError for another context or keys of two gadgets, LevelError for a level that the keys do
/// not serve.
ExtendedCiphertext multiply_turned(const ContextPointer& context, const poly::ConstPolyView& c, Metadata meta,
                                   std::uint64_t galois_element, const TurnedProductKeys& keys);

}  // namespace hemera::rlwe
