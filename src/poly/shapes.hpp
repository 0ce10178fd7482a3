// The checks of a backend's public operations (poly/operations). They name the operation and what clashed,
// and cost a few comparisons: text is made only for an error.
#pragma once

#include <algorithm>
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

/// The residues are stored as they must be; MismatchError otherwise.
void check_word(const char* operation, const char* operand, Word actual, Word expected);
/// The view as if it were in words of 64 bits, where others may be.
ConstPolyView in_wide_words(ConstPolyView view);
/// sum(out, b of it, whether all of these are whole) for each output of Backend::inner_products of `terms`.
template <typename Sum>
void for_each_sum(std::span<const PolyView> out, std::size_t terms, std::span<const ConstPolyView> b,
                  const Sum& sum) {
  for (std::size_t r = 0; r < out.size(); ++r) {
    const auto own = b.subspan(r * terms, terms);
    sum(out[r], own, std::all_of(own.begin(), own.end(), [&](const ConstPolyView& view) {
          return view.shape.degree == out[r].shape.degree;
        }));
  }
}
/// The view as if all entries were there, where fewer may be.
ConstPolyView as_whole(ConstPolyView view, std::size_t degree);

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

/// Odd and below 2N; ParameterError otherwise.
void check_galois_element(const char* operation, std::uint64_t element, std::size_t degree);

/// A count (components of the output, digits of a key) is as it must be; MismatchError otherwise.
void check_count(const char* operation, const char* what, std::size_t actual, std::size_t expected);

/// The input's batch equals the output's or is 1; MismatchError otherwise.
void check_batch(const char* operation, const char* operand, const PolyShape& input, const PolyShape& out);
void check_rows(const char* operation, std::size_t from, std::size_t to);

/// One number for each polynomial, all of one component, by a plan that can report doubts (ParameterError
/// otherwise); null: none is asked for.
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
