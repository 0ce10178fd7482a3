// Shape checks that every backend makes at the entry of an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/poly/poly.hpp"

namespace hemera::poly {

/// "[batch 2, components 1, limbs 3, N 1024]".
std::string describe(const PolyShape& shape);

/// The view has as many limbs as the base, the ring's degree and the base's word; MismatchError otherwise.
/// `operand` names the view in the message: "output", "a".
void check_view(const char* operation, const char* operand, const ConstPolyView& view, const RnsBase& base);

/// The input's batch and components equal the output's or are 1 (broadcast); MismatchError otherwise.
void check_broadcast(const char* operation, const char* operand, const PolyShape& input,
                     const PolyShape& out);

/// Both together: an input over `base` of an element-wise operation.
void check_input(const char* operation, const char* operand, const ConstPolyView& input, const PolyShape& out,
                 const RnsBase& base);

/// One scalar a limb; MismatchError otherwise.
void check_scalars(const char* operation, std::size_t scalars, const RnsBase& base);

/// The base belongs to this ring; MismatchError otherwise.
void check_ring(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base);

/// And each of its moduli has a root of unity; ParameterError otherwise.
void check_transform(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base);

/// A host array has a word for each residue; MismatchError otherwise.
void check_host(const char* operation, std::size_t host_words, const PolyShape& shape);

/// Output and input of a copy, which broadcasts; MismatchError otherwise.
void check_copy(const PolyView& out, const ConstPolyView& in);

/// Output and inputs of a tensor product; MismatchError otherwise.
void check_tensor_product(const char* operation, const PolyView& out, const ConstPolyView& a,
                          const ConstPolyView& b, const RnsBase& base);

/// Output and inputs of a sum of tensor products; MismatchError otherwise.
void check_inner_product(const PolyView& out, std::span<const ConstPolyView> a,
                         std::span<const ConstPolyView> b, const RnsBase& base);

/// Odd and below 2N; ParameterError otherwise.
void check_galois_element(const char* operation, std::uint64_t element, std::size_t degree);

/// A count (components of the output, digits of a key) is as it must be; MismatchError otherwise.
void check_count(const char* operation, const char* what, std::size_t actual, std::size_t expected);

/// The key has the plan's base and every digit that the plan asks for, and the output its components;
/// MismatchError otherwise.
void check_key_inner_product(const PolyView& out, std::size_t batch, const ConstPolyView& key,
                             const ModUp& plan);

/// Output, public key, division and addend of an encryption; MismatchError otherwise.
void check_encrypt_zero(const PolyView& out, const ConstPolyView& key, const RnsBase& base,
                        const Division* division, const ConstPolyView& addend);

/// The arguments of Backend::sample_rlwe; MismatchError unless they fit.
void check_sample_rlwe(const PolyView& out, const ConstPolyView& secret, const RnsBase& base,
                       const ConstPolyView& addend, std::span<const GadgetTerm> terms);

/// Output, inputs and plans of a key switch; MismatchError otherwise.
void check_switch_key(const PolyView& out, const ConstPolyView& in, const ConstPolyView& key, const ModUp& up,
                      const Division* down, const ConstPolyView& addend);

/// One-component polynomials over one modulus, and rows of 1 to N integers, as many or one that broadcasts
/// (MismatchError); the generator is odd and below 2N (ParameterError).
void check_slots(const char* operation, const SlotView& slots, const NumberView& values);
void check_place_integers(const PolyView& out, const IntegerView& values, std::uint64_t generator,
                          const RnsBase& base);
void check_collect_integers(const IntegerView& values, const ConstPolyView& in, std::uint64_t generator,
                            const RnsBase& base);

/// Output, integers and scalars of Backend::lift_integers; MismatchError otherwise.
void check_lift_integers(const PolyView& out, const ConstPolyView& in, std::span<const std::uint64_t> scalars,
                         const BaseConversion& lift);

/// Output and inputs of a product of BFV, and of its first half; MismatchError otherwise.
void check_lift_operands(const PolyView& a_lifted, const PolyView& b_lifted, const ConstPolyView& a,
                         const ConstPolyView& b, const ScaledProduct& plan);
void check_scaled_product(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                          const ScaledProduct& plan);

/// The views are one and the same.
bool same_view(const ConstPolyView& a, const ConstPolyView& b);

}  // namespace hemera::poly
