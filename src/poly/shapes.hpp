// What the public operations of a backend check (poly/backend.cpp). They name the operation and what
// clashed, and cost a few comparisons: text is made only for an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"

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

/// The base belongs to this ring; MismatchError otherwise.
void check_ring(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base);

/// And each of its moduli has a root of unity; ParameterError otherwise.
void check_transform(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base);

/// A host array has a word for each residue; MismatchError otherwise.
void check_host(const char* operation, std::size_t host_words, const PolyShape& shape);

/// The view has the ring's degree, and stores residues in words of 64 bits; MismatchError otherwise.
void check_degree(const char* operation, const char* operand, const ConstPolyView& view, const Ring& ring);

/// The same, or the view is stored by fewer entries (PolyShape), or whole in words of 48 bits.
void check_entries(const char* operation, const char* operand, const ConstPolyView& view, const Ring& ring);

/// Output and input of a copy have equally many limbs; MismatchError otherwise.
void check_copy(const char* operation, const PolyView& out, const ConstPolyView& in);

/// Output and inputs of an operation entry by entry, over a base of this ring; MismatchError otherwise.
void check_unary(const char* operation, const std::shared_ptr<const Ring>& ring, const PolyView& out,
                 const ConstPolyView& a, const RnsBase& base);
/// The same with a `b` that may be stored by fewer entries (PolyShape).
void check_binary(const char* operation, const std::shared_ptr<const Ring>& ring, const PolyView& out,
                  const ConstPolyView& a, const ConstPolyView& b, const RnsBase& base);

/// Output and inputs of a sum of tensor products; MismatchError otherwise.
void check_inner_product(const char* operation, const PolyView& out, std::span<const ConstPolyView> a,
                         std::span<const ConstPolyView> b, const RnsBase& base);

/// Output, input and matrix of Backend::multiply_matrix: MismatchError unless they fit each other,
/// ParameterError for a matrix that is none.
void check_multiply_matrix(const PolyView& out, const ConstPolyView& in, const IntegerMatrixView& w,
                           const RnsBase& base);
/// Output and factors of Backend::multiply_elements; MismatchError otherwise.
void check_multiply_elements(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                             const RnsBase& base);

/// Output, matrix and vector of Backend::multiply_add_vector: MismatchError unless they fit each other,
/// ParameterError for a matrix that it does not take.
void check_multiply_add_vector(const PolyView& out, const IntegerMatrixView& w, const ConstPolyView& in,
                               const RnsBase& base);

/// Values, roots and factors of Backend::transform_components; MismatchError otherwise.
void check_transform_components(const PolyView& values, const ConstPolyView& roots,
                                const ConstPolyView& factors, const RnsBase& base);
/// Output and input of Backend::split_parts: MismatchError unless they fit each other, ParameterError for
/// primes with fewer values.
void check_split_parts(const PolyView& out, const ConstPolyView& in, const RnsBase& base);

/// Output and numbers of Backend::pack_rounded: MismatchError for an output of other bytes or at an odd
/// place, ParameterError for numbers out of their range.
void check_pack_rounded(std::span<const std::byte> out, const PolyShape& in, int dropped_bits, int width);

/// Odd and below 2N; ParameterError otherwise.
void check_galois_element(const char* operation, std::uint64_t element, std::size_t degree);

/// A count (components of the output, digits of a key) is as it must be; MismatchError otherwise.
void check_count(const char* operation, const char* what, std::size_t actual, std::size_t expected);

/// The input's batch equals the output's or is 1; MismatchError otherwise.
void check_batch(const char* operation, const char* operand, const PolyShape& input, const PolyShape& out);
void check_rows(const char* operation, std::size_t from, std::size_t to);

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

/// One number for each polynomial, all of one component, by a plan that can tell (ParameterError otherwise);
/// null: none is asked for.
void check_doubtful(const char* operation, const PolyShape& out, const IntegerView* doubtful, bool tells);
/// Rows of 1 to `slots.slots` numbers, as many as there are of slots; MismatchError otherwise.
void check_slots(const char* operation, const SlotView& slots, const NumberView& values);
/// One-component polynomials over one modulus, and rows of 1 to N integers (MismatchError); the generator is
/// odd and below 2N (ParameterError).
void check_integers(const char* operation, const ConstPolyView& view, std::size_t count, Form form,
                    std::uint64_t generator, const RnsBase& base);

/// Output, integers, addend and scalars of Backend::lift_integers; MismatchError otherwise.
void check_lift_integers(const PolyView& out, std::span<const ConstPolyView> in, const ConstPolyView& addend,
                         std::span<const std::uint64_t> scalars, const BaseConversion& lift);

/// The views are one and the same.
bool same_view(const ConstPolyView& a, const ConstPolyView& b);

}  // namespace hemera::poly
