// A step from one level to a much lower one, in one division.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/arith/two_doubles.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// The beginning of a division from the base `high` to the base `low`, for any change of scale: the primes
/// that both have, and as many more of the higher one that a factor before the division gives any scale
/// within a part of 2^-64. Ascending.
std::vector<std::uint64_t> descent_source(std::vector<std::uint64_t> high, std::vector<std::uint64_t> low);
/// The primes that it drops over those that it adds.
arith::TwoDoubles descent_quotient(const std::vector<std::uint64_t>& high,
                                   const std::vector<std::uint64_t>& low);

/// x over the base of level `high`, in evaluation form, times a whole number and divided by
/// Context::descent(high, low)'s quotient, rounded once. For equal levels the multiple alone.
poly::Poly descended(const Context& context, const poly::Poly& x, std::size_t high, std::size_t low,
                     const arith::TwoDoubles& factor);

/// The same for any factor: x's scale times the ratio, within a part of 2^-64 or of what is divided by.
poly::Poly descended_by_ratio(const Context& context, const poly::Poly& x, std::size_t high, std::size_t low,
                              const arith::TwoDoubles& ratio);

}  // namespace hemera::rlwe
