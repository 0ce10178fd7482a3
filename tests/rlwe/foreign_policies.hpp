// The rescaling rules of other libraries as values: OpenFHE 1.5's four techniques and those of Microsoft SEAL
// 4, from their documented behaviour and from objects that they wrote.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::rlwe {

using Primes = std::vector<std::uint64_t>;

/// Parameters whose chain drops the last of these primes at each level.
inline ParametersLiteral prime_chain(Scheme scheme, std::size_t degree, const Primes& primes) {
  ParametersLiteral literal;
  literal.scheme = scheme;
  literal.degree = degree;
  for (std::size_t count = 1; count <= primes.size(); ++count) {
    literal.levels.emplace_back(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(count));
  }
  literal.security.reset();
  return literal;
}

enum class OpenFhe { fixed_manual, fixed_auto, flexible_auto, flexible_auto_ext };

inline bool is_fixed(OpenFhe technique) {
  return technique == OpenFhe::fixed_manual || technique == OpenFhe::fixed_auto;
}

/// What the four techniques have in common in CKKS and BGV.
inline RescalingPolicy openfhe_policy(OpenFhe technique) {
  const bool manual = technique == OpenFhe::fixed_manual;
  return {.rescale_by = manual ? RescaleBy::caller : RescaleBy::evaluator,
          .alignment = manual ? Alignment::drop_limbs : Alignment::scale_up,
          .fresh_degree = technique == OpenFhe::flexible_auto_ext ? 2 : 1,
          .least_degree = 0,
          .degree_of_products = DegreeOfProducts::adds,
          .integers_cost_a_degree = true};
}

/// CKKS with `bits` of scaling modulus.
inline Parameters openfhe_ckks(OpenFhe technique, std::size_t degree, const Primes& primes, int bits) {
  ParametersLiteral literal = prime_chain(Scheme::ckks, degree, primes);
  RescalingPolicy policy = openfhe_policy(technique);
  const std::size_t levels = primes.size();
  policy.scales.resize(levels);
  const bool ext = technique == OpenFhe::flexible_auto_ext;
  // Hemera counts levels from the last one up, OpenFHE from the top down.
  double scale = static_cast<double>(primes.back());
  for (std::size_t dropped = 0; dropped < levels; ++dropped) {
    const std::size_t level = levels - 1 - dropped;
    const auto prime = static_cast<double>(primes[level]);
    if (is_fixed(technique)) {
      const double fixed = std::exp2(bits);
      policy.scales[level] = {fixed, fixed * fixed, fixed};
      continue;
    }
    double product = scale * scale;
    double next = product / prime;
    if (ext && dropped == 0) {
      next = static_cast<double>(primes[level - 1]);
      product = scale * next;
    }
    policy.scales[level] = {scale, product, prime};
    scale = next;
  }
  policy.scales.front().divisor = 0;
  literal.scale = policy.scales.back().scale;
  literal.rescaling = policy;
  return Parameters(literal);
}

/// BGV modulo t; the fixed techniques need primes that are 1 modulo t.
inline Parameters openfhe_bgv(OpenFhe technique, std::size_t degree, const Primes& primes, std::uint64_t t) {
  ParametersLiteral literal = prime_chain(Scheme::bgv, degree, primes);
  literal.plain_modulus = t;
  RescalingPolicy policy = openfhe_policy(technique);
  const arith::Modulus modulus(t);
  policy.factors.resize(primes.size());
  const bool ext = technique == OpenFhe::flexible_auto_ext;
  std::uint64_t factor = is_fixed(technique) ? 1 : modulus.reduce(primes.back());
  for (std::size_t dropped = 0; dropped < primes.size(); ++dropped) {
    const std::size_t level = primes.size() - 1 - dropped;
    std::uint64_t product = modulus.multiply(factor, factor);
    std::uint64_t next = modulus.multiply(product, arith::inverse(modulus.reduce(primes[level]), t));
    if (ext && dropped == 0) {
      next = modulus.reduce(primes[level - 1]);
      product = modulus.multiply(factor, next);
    }
    policy.factors[level] = {factor, product};
    factor = next;
  }
  literal.rescaling = policy;
  return Parameters(literal);
}

/// SEAL rescales when told to, by the prime, and refuses operands of other levels or scales; BGV balances
/// correction factors. These are Hemera's manual rules.
inline RescalingPolicy seal_policy(Scheme scheme) { return RescalingPolicy::manual(scheme); }

}  // namespace hemera::rlwe
