// Search for NTT-friendly primes and for roots of unity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/arith/modulus.hpp"

namespace hemera::arith {

/// Whether n is prime. Deterministic Miller-Rabin with the first twelve primes as bases, which decides
/// every n < 2^64 (J. Sorenson and J. Webster, "Strong pseudoprimes to twelve prime bases", 2015).
bool is_prime(std::uint64_t n);

/// The `count` primes p = 1 modulo `step` nearest to `target`, rounded to an integer, distinct from
/// `taken`, nearest first (ties: the smaller one). All lie in [lower_bound, upper_bound).
/// Returns fewer than `count` when the interval holds no more.
std::vector<std::uint64_t> primes_nearest(double target, std::uint64_t step, std::size_t count,
                                          std::uint64_t lower_bound, std::uint64_t upper_bound,
                                          std::span<const std::uint64_t> taken = {});

/// The `count` largest primes p < upper_bound with p = 1 modulo `step`, distinct from `taken`, largest
/// first. Returns fewer when there are no more above `step`.
std::vector<std::uint64_t> primes_below(std::uint64_t upper_bound, std::uint64_t step, std::size_t count,
                                        std::span<const std::uint64_t> taken = {});

/// log2 of the product of these primes.
double log2_product(std::span<const std::uint64_t> primes);

/// Whether `root` is a primitive `order`-th root of unity modulo the prime q; order a power of two.
bool is_primitive_root(std::uint64_t root, std::uint64_t order, const Modulus& q);

/// The smallest primitive `order`-th root of unity modulo the prime q; order a power of two that divides
/// q - 1. Returns 0 when there is none.
std::uint64_t minimal_primitive_root(std::uint64_t order, const Modulus& q);

}  // namespace hemera::arith
