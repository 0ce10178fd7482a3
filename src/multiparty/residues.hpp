// Residues of polynomials in messages: packed to the bits of their moduli, row by row.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::multiparty {

/// Bytes of this number of polynomials over a base.
std::size_t residue_bytes(const poly::RnsBase& base, std::size_t polynomials);
/// Appends polynomials in evaluation form, [batch, component, limb, N], each row in the bits of its modulus.
void append_residues(const rlwe::Context& context, const poly::ConstPolyView& from, const poly::RnsBase& base,
                     std::vector<std::byte>& to);
/// Reads as many words as `out` has, [polynomial, limb, N]. Throws FormatError for a residue that is not
/// below its modulus.
void read_residues(const poly::RnsBase& base, std::span<const std::byte> from, std::span<std::uint64_t> out);

}  // namespace hemera::multiparty
