#include <cmath>
#include <vector>

#include "hemera/rlwe/noise.hpp"
#include "hemera/schemes/bgv.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/integer/rules.hpp"
#include "schemes/integer/search.hpp"

namespace hemera::bgv {
namespace {

// Whether the noise bound of a circuit in automatic mode fits a chain of `primes` primes of `bits` bits.
bool holds(const CircuitRequest& request, std::size_t degree, std::uint64_t plain_modulus, std::size_t primes,
           double bits) {
  const integer::Rules& rules = integer::rules_of(rlwe::Scheme::bgv);
  const double last = integer::last_level_log2(rules, degree, plain_modulus, request.openings);
  std::vector<double> log_moduli;
  for (std::size_t count = 1; count <= primes; ++count) {
    const double size = bits * static_cast<double>(count);
    if (size >= last) log_moduli.push_back(size);
  }
  if (log_moduli.empty()) return false;
  const double switching =
      integer::expected_switching_noise_log2(degree, primes, plain_modulus, request.secret());
  const LevelSetting setting{.degree = degree,
                             .log_moduli = log_moduli,
                             .rounding_log2 = rlwe::rounding_noise_log2(
                                 degree, request.secret(), 2, rules.switching_half_range(plain_modulus)),
                             .switching_log2 = [&](std::size_t) { return switching; }};
  const double terms = std::log2(static_cast<double>(request.terms));
  Operand noise{
      log_moduli.size() - 1,
      rlwe::add_log2(rlwe::fresh_noise_log2(degree, integer::sigma, true, request.secret().terms), -1) +
          std::log2(static_cast<double>(plain_modulus))};
  if (request.depth == 0) noise.noise_log2 += terms;
  for (std::size_t i = 0; i < request.depth; ++i) {
    const std::size_t level = multiplication_level(setting, noise, noise);
    const double operand = noise_at_level(setting, noise, level);
    const double product = product_noise_log2(degree, operand, operand);
    // The terms may be rotations of the product: one more key switch each.
    noise = {level, terms + rlwe::add_log2(product, 1 + switching)};
    if (noise.noise_log2 > log_moduli[level]) return false;
  }
  noise.noise_log2 =
      integer::result_noise_log2(rules, request.openings, degree, plain_modulus, noise.noise_log2);
  return noise.noise_log2 + integer::low_bits_room_log2 + integer::spare_bits <= log_moduli[noise.level];
}

}  // namespace

rlwe::Parameters parameters_for(const CircuitRequest& request) {
  const auto sizes = [&](std::size_t degree, std::uint64_t plain_modulus) {
    // For each number of primes, the smallest size of them that holds the circuit.
    std::vector<integer::ChainSize> result;
    const double least = integer::least_prime_bits(degree);
    double smallest = integer::most_chain_bits;
    for (std::size_t primes = 1; static_cast<double>(primes) * least <= smallest; ++primes) {
      double too_small = least;
      double bits = integer::most_prime_bits;
      if (!holds(request, degree, plain_modulus, primes, bits)) continue;
      while (bits - too_small > 0.05) {
        const double middle = (too_small + bits) / 2;
        (holds(request, degree, plain_modulus, primes, middle) ? bits : too_small) = middle;
      }
      const double total = bits * static_cast<double>(primes);
      if (!result.empty() && total >= smallest) continue;
      result.push_back({primes, bits});
      smallest = std::min(smallest, total);
    }
    return result;
  };
  return integer::search_parameters(integer::rules_of(rlwe::Scheme::bgv), request, sizes);
}

rlwe::Parameters parameters_from_bits(const ChainRequest& request) {
  return integer::chain_parameters(integer::rules_of(rlwe::Scheme::bgv), request);
}

}  // namespace hemera::bgv
