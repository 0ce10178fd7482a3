// The roots of unity of the CKKS embedding, shared by all backends.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hemera::poly {

/// The embedding numbers slots by its powers.
inline constexpr std::uint64_t embedding_generator = 5;

/// Correctly rounded (to nearest) doubles of the roots that the embedding of degree N multiplies with, N/2
/// entries.
///
/// The tree of the embedding splits X^n - i. Block b of level l (0 <= b < 2^l) is X^(n / 2^l) - psi^2 with
///   psi = exp(2 pi i 5^reverse(b) / 2^(l + 3)),  reverse(b) the l bits of b reversed,
/// which is entry 2^l + b: the same for every number of slots n. Entry 0 is not used (it is 1).
/// The children of the block are X^(n / 2^(l + 1)) - psi and + psi, in this order; entries 2 (2^l + b) and
/// the next one are theirs. Throws ParameterError unless the degree is a power of two, 2 <= N <= 2^26.
std::vector<std::complex<double>> embedding_roots(std::size_t degree);

}  // namespace hemera::poly
