// Kronecker substitution: polynomials as integers, their values at a power of two, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::multiply {

// L. Kronecker, "Grundzuege einer arithmetischen Theorie der algebraischen Groessen" (1882), section 4.
// Integers are 64-bit words, the lowest first; everything takes linear time and any number of threads, with
// the same result. An exponent e is in [1, 192]: throws ParameterError otherwise.

inline constexpr int max_kronecker_exponent = 192;

enum class Signedness : std::uint8_t { unsigned_coefficients, signed_coefficients };

/// The smallest exponent e for which a sum of `terms` products of coefficients of absolute value up to
/// `largest_a` and `largest_b` can be read off again: below 2^e, or in [-2^(e-1), 2^(e-1)) if signed.
/// ParameterError above 192.
int kronecker_exponent(std::uint64_t largest_a, std::uint64_t largest_b, std::size_t terms,
                       Signedness signedness);

/// Words of the value of a polynomial of `count` coefficients at 2^exponent.
std::size_t kronecker_words(std::size_t count, int exponent);

/// integer = sum of coefficients[j] 2^(j e). `integer` has kronecker_words (throws MismatchError otherwise);
/// coefficients are below 2^e (ParameterError).
void pack(std::span<std::uint64_t> integer, std::span<const std::uint64_t> coefficients, int exponent,
          runtime::ThreadPool& pool);
/// The same for coefficients in [-2^(e-1), 2^(e-1)): writes the absolute value and returns whether it is
/// negative.
bool pack_signed(std::span<std::uint64_t> magnitude, std::span<const std::int64_t> coefficients, int exponent,
                 runtime::ThreadPool& pool);

/// Coefficient j of `count` into the w = ceil(e / 64) words from coefficients[w j] on; bits of the integer
/// above the last coefficient must be zero (ParameterError), and coefficients has w count words
/// (MismatchError).
void unpack(std::span<std::uint64_t> coefficients, std::span<const std::uint64_t> integer, std::size_t count,
            int exponent, runtime::ThreadPool& pool);
/// The same for coefficients in [-2^(e-1), 2^(e-1)), as w words of two's complement, from an integer's
/// absolute value and sign.
void unpack_signed(std::span<std::uint64_t> coefficients, std::span<const std::uint64_t> magnitude,
                   bool negative, std::size_t count, int exponent, runtime::ThreadPool& pool);

/// residues[n] = c_n modulo q for the N = residues.size() coefficients c_n in (-2^(e-1), 2^(e-1)) of the
/// polynomial whose value at 2^e is `integer` modulo 2^(N e) + 1: what multiplying the values of polynomials
/// modulo 2^(N e) + 1 leaves of their product modulo X^N + 1. N is a multiple of 64, and integer, in
/// [0, 2^(N e)], has kronecker_words(N, e) + 1 words (MismatchError).
void unpack_negacyclic(std::span<std::uint64_t> residues, std::span<const std::uint64_t> integer,
                       int exponent, const arith::Modulus& q, runtime::ThreadPool& pool);

}  // namespace hemera::multiply
