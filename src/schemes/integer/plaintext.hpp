// Plaintexts modulo t as operands: what is checked of them, and how they are lifted to a level's base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::integer {

/// Throws MismatchError unless both are encoded alike.
void require_same_encoding(rlwe::Encoding a, rlwe::Encoding b, const char* operation);

/// BFV's: round(Q m / t) = (Q m - [Q m]_t) / t, which modulo Q is [Q m]_t times -t^-1.
Placement placement_in_high_bits(const rlwe::Context& context, std::size_t level);

/// The messages as they lie in component 0 at `level`, in evaluation form; [batch, 1, limb, N]. NoiseError
/// for the plaintext of a decryption that is in doubt.
poly::Poly place(const rlwe::Context& context, const rlwe::Plaintext& plaintext, std::size_t level,
                 const Placement& placement, runtime::Secrecy secrecy);

/// The same as what multiplies ciphertexts at `level`: the messages times the factor of the level. Messages
/// of equally many batches follow each other.
poly::Poly place_factors(const rlwe::Context& context, std::span<const poly::ConstPolyView> messages,
                         std::size_t level, runtime::Secrecy secrecy);

/// Keeps what products and sums at `level` take of the plaintext.
void make_ready(rlwe::Plaintext& plaintext, std::size_t level, Use use, runtime::Secrecy secrecy);
/// The residues that a sum at `level` adds to component 0, where the plaintext keeps it; null otherwise.
const poly::Poly* ready_term(const rlwe::Plaintext& plaintext, std::size_t level, const Placement& placement);

/// The residues of an integer, one a limb.
std::vector<std::uint64_t> residues(std::int64_t value, const poly::RnsBase& base);

}  // namespace hemera::integer
