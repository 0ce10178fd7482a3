// Secret keys: their coefficients are -1, 0 and 1, so that two bits hold one.
#pragma once

#include "hemera/io/objects.hpp"
#include "hemera/poly/poly.hpp"
#include "io/residues.hpp"

namespace hemera::io {

/// The secret polynomial of one component, in evaluation form over any base, as a RESI section modulo 3 in
/// coefficient form. MismatchError if a coefficient is not ternary. Branches and addresses do not depend on
/// the secret; what is written on the way is zeroed.
void write_ternary(Writer& writer, const rlwe::Context& context, const poly::Poly& secret);

/// The inverse, over the context's key base, in evaluation form. FormatError for a section of another shape,
/// or a Hamming weight that the parameters do not have.
poly::Poly read_ternary(const Section& section, const rlwe::Context& context);

}  // namespace hemera::io
