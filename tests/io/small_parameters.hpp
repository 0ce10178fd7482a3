// Parameters of small, fast contexts.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "test_device.hpp"

namespace hemera::io::test {

/// Degree 1024, two levels of one and two primes, one special prime; `bits` bits each.
inline rlwe::Parameters small_parameters(rlwe::Scheme scheme, int bits) {
  constexpr std::size_t degree = 1024;
  const auto primes = arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 3, {});
  rlwe::ParametersLiteral literal;
  literal.scheme = scheme;
  literal.degree = degree;
  literal.levels = {{primes[0]}, {primes[0], primes[1]}};
  literal.special_primes = {primes[2]};
  literal.security.reset();
  if (scheme == rlwe::Scheme::ckks) {
    literal.scale = std::exp2(bits - 10);
  } else {
    literal.plain_modulus = 12289;
  }
  return rlwe::Parameters(std::move(literal));
}

inline std::shared_ptr<const rlwe::Context> small_context(rlwe::Scheme scheme, int bits) {
  return tests::make_context(small_parameters(scheme, bits), 1);
}

/// Bits of the primes of the golden files: packed residues of several widths.
inline int golden_bits(rlwe::Scheme scheme) {
  return scheme == rlwe::Scheme::ckks ? 45 : scheme == rlwe::Scheme::bfv ? 30 : 25;
}

}  // namespace hemera::io::test
