// Gadgets for keys of a single level of a circuit.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// Special primes of a circuit's key, at most. The fused kernels of a GPU convert from 16 primes: these, and
/// up to four that a rescale drops with them.
inline constexpr std::size_t most_special_primes = 12;
/// The same of transforms' keys of single levels: packaged models of 0.2.0 list such keys by it.
inline constexpr std::size_t most_special_primes_of_transforms = 10;

// Keys over the level's primes, and special ones: the first of the parameters' special and key primes, at
// most `most` and as many as the security asked for leaves room for. ParameterError where there is none.

/// For rotations: digits are a prime shorter than P, as nothing divides the error of their switch after it.
/// As few digits as there can be, of equal length, and the fewest special primes that they need.
rlwe::GadgetPrimes rotation_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most);
/// The same for the rotations of CKKS bootstraps: digits are 10 bits shorter than P, whichever primes they
/// have, so that short primes of a level, spread over its digits, save a digit or a special prime. A switch
/// then has an error of 2^8 or so where a division's rounding is 2^14. Digits are as equal in bits as they
/// can be.
rlwe::GadgetPrimes spread_rotation_gadget(const rlwe::Parameters& parameters, std::size_t level);
/// The same of the fewest bytes: its last special prime is the shortest of all levels' that is long enough.
rlwe::GadgetPrimes short_rotation_gadget(const rlwe::Parameters& parameters, std::size_t level);
/// For products: digits are as long as P, or longer by half a bit at most. The number of special primes is
/// that with the least work as it is counted (work_of), of equal ones the smallest.
///
/// A switch then has an error of 2^18 or so at N = 2^16 (switching_error, which takes the digits' own ratios
/// to P), where a division's rounding is 2^14. But it has it at the scale of a product, and the rescale after
/// it divides the error by some 2^30 to 2^60.
rlwe::GadgetPrimes product_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most);

/// A product's switch at a level: digits, special primes with those that are lent, and by how many bits the
/// longest digit is longer than these.
struct SwitchSize {
  std::size_t digits = 0, special = 0;
  double longest = 0;
};
SwitchSize product_switch_size(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget,
                               std::size_t level);
/// For products at all of some levels, over the primes that any of them has: levels are quotients of moduli,
/// so a higher one may lack primes of a lower one. Those that a level lacks are lent to P
/// (rlwe::lent_primes), so that digits may be longer than P. Some numbers of digits and special primes, to
/// choose from.
std::vector<rlwe::GadgetPrimes> common_product_gadgets(const rlwe::Parameters& parameters,
                                                       const std::set<std::size_t>& levels);

/// Gadgets to an ephemeral secret at level 0, with one special prime, and back at `level`: the second one's
/// digit is the whole base, for what is raised is below q_0.
rlwe::GadgetPrimes to_ephemeral_gadget(const rlwe::Parameters& parameters);
rlwe::GadgetPrimes from_ephemeral_gadget(const rlwe::Parameters& parameters, std::size_t level);
/// For encryptions of a secret in blocks at `level`: one digit, and a special prime that their errors are
/// divided by.
rlwe::GadgetPrimes from_block_gadget(const rlwe::Parameters& parameters, std::size_t level);

}  // namespace hemera::circuits
