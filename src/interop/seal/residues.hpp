// Residues between files and polynomials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "interop/seal/container.hpp"
#include "interop/seal/generator.hpp"

namespace hemera::interop::seal {

/// Reads the residues of `out`, [1, component, limb, N], as the file has them in this form, one component
/// after the other. FormatError unless each is below its modulus.
void read_residues(Reader& in, const rlwe::Context& context, const poly::PolyView& out,
                   const poly::RnsBase& base, poly::Form form);
/// The same of words in memory, as many as there are residues.
void take_residues(std::span<const std::uint64_t> words, const rlwe::Context& context,
                   const poly::PolyView& out, const poly::RnsBase& base, poly::Form form);
/// The one component of a seed.
void expand_residues(const rlwe::Context& context, const poly::PolyView& out, const poly::RnsBase& base,
                     poly::Form form, const Seed& seed);
/// [1, component, limb, N] as they are in this form, to as many words.
void give_residues(std::span<std::uint64_t> words, const rlwe::Context& context,
                   const poly::ConstPolyView& in, const poly::RnsBase& base, poly::Form form);
/// Writes [1, component, limb, N] as they are, in this form.
void write_residues(Writer& out, const rlwe::Context& context, const poly::ConstPolyView& in,
                    const poly::RnsBase& base, poly::Form form);

/// The first `count` coefficients of one polynomial over one modulus; those that follow are 0.
void read_coefficients(Reader& in, const rlwe::Context& context, const poly::PolyView& out,
                       const poly::RnsBase& base, std::size_t count);
void write_coefficients(Writer& out, const rlwe::Context& context, const poly::ConstPolyView& in,
                        const poly::RnsBase& base, std::size_t count);

}  // namespace hemera::interop::seal
