// Pieces of key generation and encryption: samples of RLWE.
#pragma once

#include <span>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// Fresh pairs (b, a) with b = e - a s + addend in every polynomial of `out`, [batch, 2, limb, N] over
/// `base`, as Backend::sample_rlwe describes. Returns the public stream that `a` comes from.
poly::RandomStream sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                               const poly::RnsBase& base, const poly::ConstPolyView& addend = {},
                               std::span<const poly::GadgetTerm> terms = {});

/// The same of given streams, for messages that are functions of a secret: what is sent again is the same,
/// and there is nothing to average. A stream of errors serves one message alone.
struct GivenStreams {
  const poly::RandomStream& errors;
  const poly::RandomStream& uniform;
};
void sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                 const poly::RnsBase& base, const GivenStreams& from, const poly::ConstPolyView& addend = {},
                 std::span<const poly::GadgetTerm> terms = {});

/// encrypt_zero with a public key, u and the errors from a given stream.
Ciphertext encrypt_zero(const PublicKey& key, Metadata meta, const poly::RandomStream& secret,
                        const poly::ConstPolyView& message);

/// P g_d in each digit's limbs: what a key of this gadget adds of the secret that it switches from.
std::vector<poly::GadgetTerm> gadget_terms(const Gadget& gadget);

}  // namespace hemera::rlwe
