// Key-switching by a gadget: relinearization, Galois automorphisms and their hoisted form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// (k_0, k_1) with k_0 + k_1 s_to = c s_from + small noise, for a one-component polynomial c [batch, 1, limb,
/// N] in evaluation form at `level`; the result has two components, to which those of `addend` are added
/// (one, two or, without data, none). Throws LevelError if the key does not serve the level. (K. Han, D. Ki,
/// "Better bootstrapping for approximate homomorphic encryption", 2019/688, section 4: ModUp, inner product,
/// ModDown; base-2^w digits and no special prime: Brakerski-Vaikuntanathan.)
poly::Poly switch_key(const Context& context, const poly::ConstPolyView& c, std::size_t level,
                      const SwitchingKey& key, const poly::ConstPolyView& addend = {},
                      std::uint64_t galois_element = 1);

/// Takes size 3 to size 2. Throws MismatchError for more components, which would need keys of their own.
void relinearize(Ciphertext& ciphertext, const SwitchingKey& key);
/// CKKS: size 3 to size 2 and one level down, by one division.
Ciphertext relinearize_rescaled(const Ciphertext& ciphertext, const SwitchingKey& key);

/// The product of two ciphertexts of size 2, at the level of its metadata `meta`, relinearized; the key
/// switch's noise is added to the metadata. Uses the backend's transforms, never Context::multiplier().
Ciphertext multiply_relinearize(const ContextPointer& context, const poly::ConstPolyView& a,
                                const poly::ConstPolyView& b, Metadata meta, const SwitchingKey& key);

/// The automorphism X -> X^g of a ciphertext of size 2: key switch, then the permutation.
Ciphertext apply_galois(const Ciphertext& ciphertext, std::uint64_t galois_element, const SwitchingKey& key);

/// The same for several elements with one ModUp (one for each gadget); each result
/// equals apply_galois bit for bit.
std::vector<Ciphertext> apply_galois_hoisted(const Ciphertext& ciphertext,
                                             std::span<const std::uint64_t> galois_elements,
                                             std::span<const SwitchingKey* const> keys);

/// Switches a ciphertext of size 2 from the secret that `key` starts from to the secret that it ends at.
Ciphertext reencrypt(const Ciphertext& ciphertext, const SwitchingKey& key);

}  // namespace hemera::rlwe
