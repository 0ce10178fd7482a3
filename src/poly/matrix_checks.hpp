// The checks of a backend's public operations (poly/shapes.hpp): those of matrices and of transforms over
// components.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"

namespace hemera::poly {

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

}  // namespace hemera::poly
