#include <cmath>

#include "hemera/rlwe/noise.hpp"
#include "hemera/schemes/bfv.hpp"
#include "schemes/bfv/noise.hpp"
#include "schemes/integer/rules.hpp"
#include "schemes/integer/search.hpp"

namespace hemera::bfv {
namespace {

// Noise bound at the end of a circuit, for a modulus of `log_modulus` bits in `primes` primes.
double final_noise_log2(const CircuitRequest& request, std::size_t degree, std::uint64_t plain_modulus,
                        double log_modulus, std::size_t primes) {
  const ProductSetting setting{.degree = degree,
                               .plain_modulus = plain_modulus,
                               .secret = request.secret(),
                               .log_modulus = log_modulus,
                               // Covers each variant (BEHZ rounds worst).
                               .rounding_error = static_cast<double>(primes) / 2,
                               .operand_rounding_log2 = 2};
  const double switching = integer::expected_switching_noise_log2(degree, primes, 0, request.secret());
  const double terms = std::log2(static_cast<double>(request.terms));
  double noise =
      rlwe::add_log2(rlwe::fresh_noise_log2(degree, integer::sigma, true, request.secret().terms), -1);
  if (request.depth == 0) noise += terms;
  for (std::size_t i = 0; i < request.depth; ++i) {
    const double product = product_noise_log2(setting, noise, noise);
    // The terms may be rotations of the product: one more key switch each.
    noise = terms + rlwe::add_log2(product, 1 + switching);
  }
  return integer::result_noise_log2(integer::rules_of(rlwe::Scheme::bfv), request.openings, degree,
                                    plain_modulus, noise);
}

}  // namespace

rlwe::Parameters parameters_for(const CircuitRequest& request) {
  const auto sizes = [&](std::size_t degree, std::uint64_t plain_modulus) {
    std::vector<integer::ChainSize> result;
    const double least = integer::least_prime_bits(degree);
    for (std::size_t primes = 1; static_cast<double>(primes) * least <= integer::most_chain_bits; ++primes) {
      const double most = integer::most_prime_bits * static_cast<double>(primes);
      const double needed = final_noise_log2(request, degree, plain_modulus, most, primes) +
                            integer::rules_of(rlwe::Scheme::bfv).room_log2(plain_modulus) +
                            integer::spare_bits;
      const double bits = std::max(least, needed / static_cast<double>(primes));
      if (bits > integer::most_prime_bits) continue;
      result.push_back({primes, bits});
      break;
    }
    return result;
  };
  return integer::search_parameters(integer::rules_of(rlwe::Scheme::bfv), request, sizes);
}

rlwe::Parameters parameters_from_bits(const ChainRequest& request) {
  return integer::chain_parameters(integer::rules_of(rlwe::Scheme::bfv), request);
}

}  // namespace hemera::bfv
