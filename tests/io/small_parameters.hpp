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

/// Parameters that only version 2 can express: a Gaussian secret, a prime for gadgets of single keys, a level
/// of a circuit, and scales or factors of levels that do not follow from the moduli.
inline rlwe::Parameters second_format_parameters(rlwe::Scheme scheme, int bits) {
  rlwe::ParametersLiteral literal = small_parameters(scheme, bits).literal();
  const auto primes = arith::primes_below(std::uint64_t{1} << bits, 2 * literal.degree, 5, {});
  literal.levels.push_back({primes[0], primes[1], primes[3]});
  literal.digits.clear();
  literal.roots.clear();
  literal.key_primes = {primes[4]};
  literal.purposes = {rlwe::LevelPurpose::user, rlwe::LevelPurpose::user, rlwe::LevelPurpose::eval_mod};
  literal.secret.deviation = 3.19;
  literal.rescaling = rlwe::RescalingPolicy::automatic(scheme);
  literal.rescaling->least_degree = 0;
  if (scheme == rlwe::Scheme::ckks) {
    for (const double level : {1.0, 1.5, 2.0}) {
      const double scale = literal.scale * level;
      literal.rescaling->scales.push_back(
          {.scale = scale, .product_scale = scale * scale, .divisor = literal.scale});
    }
    literal.rescaling->integers_cost_a_degree = true;
    literal.largest = 100;
  } else if (scheme == rlwe::Scheme::bgv) {
    literal.rescaling->alignment = rlwe::Alignment::scale_up;
    literal.rescaling->degree_of_products = rlwe::DegreeOfProducts::adds;
    literal.rescaling->fresh_degree = 2;
    literal.rescaling->factors = {{5, 25}, {7, 49}, {11, 121}};
  } else {
    literal.rescaling->degree_of_products = rlwe::DegreeOfProducts::larger_plus_one;
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
