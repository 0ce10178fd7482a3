// Secret keys: their coefficients are small, so that a few bits hold one.
#pragma once

#include <cstdint>
#include <span>

#include "hemera/io/objects.hpp"
#include "hemera/poly/poly.hpp"
#include "io/residues.hpp"

namespace hemera::io {

/// The secret polynomial of one component, in evaluation form over any base, as a RESI section in coefficient
/// form: modulo 3 for ternary secrets (2 stands for -1), modulo 255 for Gaussian ones. MismatchError if a
/// coefficient is larger than that allows. Branches and addresses do not depend on the secret; what is
/// written on the way is zeroed.
void write_secret(Writer& writer, const rlwe::Context& context, const poly::Poly& secret);

/// The inverse, over the context's key base, in evaluation form. FormatError for a section of another shape,
/// or a Hamming weight that the parameters do not have.
poly::Poly read_secret(const Section& section, const rlwe::Context& context);

/// A secret polynomial from its coefficients, small integers modulo any number, centred: over the context's
/// key base, in evaluation form. Branches and addresses do not depend on the secret.
poly::Poly secret_from(const rlwe::Context& context, std::span<const std::uint64_t> coefficients,
                       std::uint64_t modulus);

/// The largest magnitude of these residues, centred; without a branch.
std::uint64_t largest_magnitude(std::span<const std::uint64_t> residues, std::uint64_t modulus);

}  // namespace hemera::io
