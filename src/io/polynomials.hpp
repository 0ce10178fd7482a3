// Polynomials in a context's memory to RESI sections and back.
#pragma once

#include <cstddef>
#include <optional>

#include "hemera/io/objects.hpp"
#include "hemera/poly/poly.hpp"
#include "io/residues.hpp"

namespace hemera::io {

/// The array of residues that loading expects.
struct ExpectedResidues {
  poly::RnsBase base;
  poly::Form form = poly::Form::evaluation;
  std::size_t batch = 1;
  /// Components in the file; empty: any number from 2 on.
  std::optional<std::size_t> components;
  /// Fewer entries of a limb than all, which may be stored instead (poly::PolyShape); 0: not.
  std::size_t fewer_entries = 0;
};

/// Components [0, components) of a polynomial array as the next section of a file.
void write_polynomials(Writer& writer, const rlwe::Context& context, const poly::Poly& poly,
                       std::size_t components, const SaveOptions& options);

/// Components [0, components) of a key in the making, one digit after the other, as the next section.
void write_digits(Writer& writer, const rlwe::KeyMaker& key, std::size_t components,
                  const SaveOptions& options);

/// Bytes of these sections before compression.
std::size_t section_bytes(const poly::Poly& poly, std::size_t components, const SaveOptions& options);
std::size_t section_bytes(const rlwe::Gadget& gadget, std::size_t components, const SaveOptions& options);

/// The section as a polynomial array; with `seed`, one more component follows those of the file, filled from
/// the seed. FormatError when it is not what is expected.
poly::Poly read_polynomials(const Section& section, const rlwe::Context& context,
                            const ExpectedResidues& expected, const std::optional<poly::RandomStream>& seed);

}  // namespace hemera::io
