// Modulus chains from the bits that each level drops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::rlwe {

/// The primes of each level, the last one first, for a chain whose last base has about 2^last_bits and whose
/// level i + 1 is drops[i] bits larger than level i. Every level has ceil(bits / 50) primes below 2^50 (one
/// more where bits are within 2^-4 of a multiple of 50): as many just below 2^50 as fit, and one of the size
/// of the rest, or two of middle size where the rest is below the smallest usable prime. Levels with rests of
/// one size share these adjusting primes, so that a chain of equal drops has few of them ("rational
/// rescaling": J. H. Cheon, H. Choe, M. Kang, J. Kim, "Grafting: complementing RNS in CKKS", 2024/1014).
/// Primes of `taken` are left out. Throws ParameterError for bits that are not positive, or below what a
/// prime of this degree has, and where there are not enough primes.
std::vector<std::vector<std::uint64_t>> build_chain(std::size_t degree, double last_bits,
                                                    std::span<const double> drops,
                                                    std::span<const std::uint64_t> taken = {});

}  // namespace hemera::rlwe
