// What BFV and BGV share about plaintexts modulo t and about moving between levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/evaluator.hpp"

namespace hemera::rlwe {

/// Throws MismatchError unless the ciphertext is there and of a context for the scheme.
void require_ciphertext(const Ciphertext& ciphertext, Scheme scheme, const char* operation);

/// Throws MismatchError unless the context is for the scheme.
void require_scheme(const Context& context, Scheme scheme, const char* operation);

/// Throws MismatchError unless the plaintext is there and belongs to the context.
void require_plaintext(const Context& context, const Plaintext& plaintext, const char* operation);

/// Throws MismatchError unless both are encoded alike.
void require_same_encoding(const Ciphertext& a, const Plaintext& b, const char* operation);
void require_same_encoding(const Ciphertext& a, const Ciphertext& b, const char* operation);

/// The centred representative of factor * m modulo t, lifted to `base`, times scalars[limb] (none: 1), in
/// evaluation form; [batch, 1, limb, N].
poly::Poly lift_plaintext(const Context& context, const Plaintext& plaintext, const poly::RnsBase& base,
                          std::uint64_t factor, std::span<const std::uint64_t> scalars,
                          runtime::Secrecy secrecy);

/// A ciphertext and a plaintext ready to be multiplied; throws MismatchError unless they belong together.
Factors plaintext_factors(const Ciphertext& a, const Plaintext& b);

/// The residues of an integer, one a limb.
std::vector<std::uint64_t> residues(std::int64_t value, const poly::RnsBase& base);

/// Repeats a single object so that its batch is the broadcast of both shapes.
void grow_batch(Ciphertext& a, const BatchShape& other, const char* operation);

/// Number of values of a product: the longer operand's slots, or the length of the product of polynomials.
std::size_t product_slots(const Metadata& a, const Metadata& b, std::size_t degree);

/// The metadata of a decryption.
Metadata decrypted_metadata(const Metadata& meta);

/// Noise after modulus switching from one level to a lower one, step by step; each step rounds coefficients
/// by at most `half_range`.
double switched_noise_log2(const Context& context, double noise_log2, std::size_t from, std::size_t to,
                           std::size_t size, double half_range);

/// One modulus switch down with its noise; the correction factor is the caller's. LevelError at level 0.
Ciphertext switch_modulus(const Ciphertext& a, double half_range);

/// The lowest level at which the noise bound leaves a bit of budget; the ciphertext's own if none does.
/// `room_log2`: log2 of Q over the largest noise that decrypts.
std::size_t smallest_level(const Ciphertext& a, double half_range, double room_log2);

/// Throws LevelError, naming both levels, if the context leaves aligning to the caller.
void require_automatic(const Context& context, std::size_t a, std::size_t b, const char* operation);

/// Throws ParameterError unless statistical_bits >= 1, NoiseError unless the budget has as many bits.
void require_sharing_margin(double guaranteed_budget, int statistical_bits);

/// Throws LevelError unless `level` is at or below the ciphertext's.
void require_not_above(const Ciphertext& a, std::size_t level);

}  // namespace hemera::rlwe
