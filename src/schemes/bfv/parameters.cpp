#include <cmath>

#include "hemera/rlwe/noise.hpp"
#include "hemera/schemes/bfv.hpp"
#include "rlwe/integer_search.hpp"
#include "schemes/bfv/noise.hpp"

namespace hemera::bfv {
namespace {

constexpr rlwe::SecretDistribution uniform_secret;
constexpr double sigma = 3.19;

// Bits kept between the noise bound and the largest noise that decrypts.
constexpr double spare_bits = 1.5;

// Noise bound at the end of a circuit, for a modulus of `log_modulus` bits in `primes` primes.
double final_noise_log2(const CircuitRequest& request, std::size_t degree, std::uint64_t plain_modulus,
                        double log_modulus, std::size_t primes) {
  const ProductSetting setting{.degree = degree,
                               .plain_modulus = plain_modulus,
                               .secret = uniform_secret,
                               .log_modulus = log_modulus,
                               // Covers each variant (BEHZ rounds worst).
                               .rounding_error = static_cast<double>(primes) / 2,
                               .operand_rounding_log2 = 2};
  const double switching = rlwe::expected_switching_noise_log2(degree, sigma, primes, 0);
  const double terms = std::log2(static_cast<double>(request.terms));
  double noise = rlwe::add_log2(rlwe::fresh_noise_log2(degree, sigma, true), -1);
  for (std::size_t i = 0; i < request.depth; ++i) {
    const double product = product_noise_log2(setting, noise, noise);
    // The terms may be rotations of the product: one more key switch each.
    noise = terms + rlwe::add_log2(product, 1 + switching);
  }
  return noise;
}

double last_level_log2(std::size_t degree, std::uint64_t plain_modulus) {
  return rlwe::rounding_noise_log2(degree, uniform_secret, 2, switching_half_range) +
         room_log2(plain_modulus) + 1 + spare_bits;
}

}  // namespace

rlwe::Parameters parameters_for(const CircuitRequest& request) {
  const auto sizes = [&](std::size_t degree, std::uint64_t plain_modulus) {
    std::vector<rlwe::ChainSize> result;
    const double least = rlwe::least_prime_bits(degree);
    for (std::size_t primes = 1; static_cast<double>(primes) * least <= rlwe::most_chain_bits; ++primes) {
      const double most = rlwe::most_prime_bits * static_cast<double>(primes);
      const double needed = final_noise_log2(request, degree, plain_modulus, most, primes) +
                            room_log2(plain_modulus) + spare_bits;
      const double bits = std::max(least, needed / static_cast<double>(primes));
      if (bits > rlwe::most_prime_bits) continue;
      result.push_back({primes, bits});
      break;
    }
    return result;
  };
  return rlwe::search_parameters(rlwe::Scheme::bfv, request, sizes, last_level_log2);
}

rlwe::Parameters parameters_from_bits(const ChainRequest& request) {
  return rlwe::chain_parameters(rlwe::Scheme::bfv, request, last_level_log2);
}

}  // namespace hemera::bfv
