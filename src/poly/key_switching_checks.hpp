// The checks of a backend's public operations (poly/shapes.hpp): those of key switches, and of encryptions
// and decryptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"

namespace hemera::poly {

/// A ciphertext of two components over the base, for an output of the same batch unless its own is 1;
/// MismatchError otherwise.
void check_pair(const char* operation, const char* operand, const ConstPolyView& view, const PolyView& out,
                const RnsBase& base);

/// The bases of a plan belong to this ring (MismatchError); where it transforms, their moduli have roots of
/// unity (ParameterError).
void check_division(const char* operation, const std::shared_ptr<const Ring>& ring, const Division& plan,
                    Form form);

void check_mod_up_plan(const char* operation, const std::shared_ptr<const Ring>& ring, const ModUp& plan);

/// And the division, if there is one, goes from the extended base, which else is the level's (MismatchError).
void check_switch_plans(const char* operation, const std::shared_ptr<const Ring>& ring, const ModUp& up,
                        const Division* down);

/// The base where a key switch ends.
const RnsBase& switched_base(const ModUp& up, const Division* down);

/// The key has the plan's base, as many components as the output, and every digit that the plan asks for;
/// MismatchError otherwise.
void check_key(const char* operation, const PolyView& out, const ConstPolyView& key, const ModUp& plan);

/// Keys of one call are in the same words; MismatchError otherwise.
void check_same_word(const char* operation, const ConstPolyView& a, const ConstPolyView& b);

/// Outputs and terms of Backend::hoisted_products; MismatchError otherwise.
void check_hoisted_products(std::span<const PolyView> out, std::span<const HoistedTerm> terms,
                            const ModUp& plan, std::span<const std::uint64_t> special);

/// Output, over the base `target`, input, key and addend of a key switch; MismatchError otherwise.
void check_switch(const char* operation, const PolyView& out, const ConstPolyView& in,
                  const ConstPolyView& key, const ModUp& up, const RnsBase& target,
                  const ConstPolyView& addend);

/// Output, public key, division and addend of an encryption; MismatchError otherwise.
void check_encrypt_zero(const PolyView& out, const ConstPolyView& key, const RnsBase& base,
                        const Division* division, const ConstPolyView& addend);

/// The arguments of Backend::sample_rlwe; MismatchError unless they fit.
void check_phase(const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
                 const RnsBase& base);

void check_sample_rlwe(const PolyView& out, const ConstPolyView& secret, const RnsBase& base,
                       const ConstPolyView& addend, std::span<const GadgetTerm> terms);

}  // namespace hemera::poly
