#include "circuits/rounding_model.hpp"

#include <cmath>

#include "hemera/arith/primes.hpp"

namespace hemera::circuits {
namespace {

double squared_norm(std::size_t degree, const rlwe::SecretDistribution& secret) {
  if (secret.weight != 0) return static_cast<double>(secret.weight);
  return static_cast<double>(degree) * (secret.deviation != 0 ? secret.deviation * secret.deviation
                                                              : 2.0 / 3 * static_cast<double>(secret.terms));
}

}  // namespace

double division_variance(std::size_t degree, const rlwe::SecretDistribution& secret, std::size_t slots) {
  return 2 * static_cast<double>(slots) * (1 + squared_norm(degree, secret)) / 12;
}

double division_error(const rlwe::Parameters& parameters, std::size_t slots) {
  return std::sqrt(division_variance(parameters.degree(), parameters.literal().secret, slots));
}

double switching_error(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget,
                       std::size_t slots) {
  const double special = arith::log2_product(gadget.special);
  double variance = 0;  // of a digit's coefficient over P, summed
  for (const auto& digit : gadget.digits) {
    const double bits = arith::log2_product(digit);
    if (gadget.window_bits == 0) {
      variance += static_cast<double>(digit.size()) / 12 * std::exp2(2 * (bits - special));
    } else {
      variance += std::ceil(bits / gadget.window_bits) / 3 * std::exp2(2 * (gadget.window_bits - special));
    }
  }
  const auto degree = static_cast<double>(parameters.degree());
  // A key of a secret of many terms has an error of each.
  variance *= static_cast<double>(parameters.literal().secret.terms);
  return parameters.literal().sigma * std::sqrt(2 * static_cast<double>(slots) * degree * variance);
}

}  // namespace hemera::circuits
