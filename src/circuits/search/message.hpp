// Encryptions of integers at chosen coefficients, and the check of those that were received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits::search {

/// Fresh encryptions of `polynomials` polynomials at the top level, whose coefficients `stride` apart are
/// value(polynomial, i) 2^shift for i < count; the others are 0.
rlwe::Ciphertext encrypt_coefficients(
    const rlwe::SecretKey& secret, std::size_t polynomials, std::size_t count, std::size_t stride, int shift,
    const std::function<std::int64_t(std::size_t polynomial, std::size_t i)>& value);

/// Throws MismatchError unless there is a query, and numbers as many as the extents have; FormatError for a
/// number that is no residue.
void require_residues(const Query& query, const poly::RnsBase& base);

}  // namespace hemera::circuits::search
