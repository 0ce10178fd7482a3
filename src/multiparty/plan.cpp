#include "hemera/multiparty/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::multiparty {
namespace {

constexpr int most_opening_bits = 64;  // beyond it the samplers' accuracy counts (docs/randomness.md)
constexpr int least_value_bits = 2;
constexpr int most_value_bits = 40;
// A share's rounding adds 2^-6 deviations at most to 1: it costs no noise that matters.
constexpr int kept_below_flooding = 6;
// Delta over the noise without that of uploads: half of the room is theirs.
constexpr double room_log2 = 2;
constexpr int most_modulus_bits = 120;  // an integer modulo Q and its sums fit 128 bits

int bits_of(arith::uint128 value) {
  int bits = 0;
  for (; value != 0; value >>= 1) ++bits;
  return bits;
}

double log2_of(arith::uint128 value) {
  return std::log2(static_cast<double>(static_cast<std::uint64_t>(value >> 64)) * 0x1p64 +
                   static_cast<double>(static_cast<std::uint64_t>(value)));
}

void require_in_range(const char* what, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw ParameterError("a federation's " + std::string(what) + " must be from " + decimal(least) + " to " +
                       decimal(most) + ", not " + decimal(value));
}

void require_request(const PlanRequest& request) {
  if (!std::has_single_bit(request.degree) || request.degree < poly::min_degree ||
      request.degree > poly::max_degree) {
    throw ParameterError("a federation's degree must be a power of two from 2^10 to 2^17, not " +
                         std::to_string(request.degree));
  }
  require_in_range("number of values", static_cast<double>(request.values), 1, 0x1p36);
  require_in_range("bits of a value", request.value_bits, least_value_bits, most_value_bits);
  require_in_range("number of contributors", static_cast<double>(request.contributors), 1, 0x1p20);
  require_in_range("largest weight", static_cast<double>(request.weight), 1, 0x1p32);
  require_in_range("number of rounds", static_cast<double>(request.rounds), 1, 0x1p30);
  require_in_range("opening bits", request.opening_bits, 1, most_opening_bits);
  require_in_range("failure bits", request.failure_bits, 40, 128);
  require_in_range("number of pieces", static_cast<double>(request.pieces), 1, 128);
}

// log2 of the flooding's least deviation.
double least_flooding_log2(const Margin& margin) {
  return 0.5 * (std::log2(12.0 * static_cast<double>(margin.openings)) + margin.opening_bits) +
         error_norm_log2(margin);
}

// The noise without what uploads leave out.
double opened_noise_log2(const Margin& margin) {
  const double tail = std::log2(rlwe::tail_factor(margin.values, -margin.failure_bits));
  const double pieces = std::log2(static_cast<double>(margin.pieces));
  const double flooding = tail + margin.flooding_log2 + 0.5 * pieces;
  const double shares = pieces + margin.share_dropped - 1;
  const double errors = tail + std::log2(margin.sigma * margin.weight_norm);
  return rlwe::add_log2(rlwe::add_log2(flooding, shares), errors);
}

arith::uint128 largest_sum(const Margin& margin) {
  return static_cast<arith::uint128>(margin.weight_sum) * ((std::uint64_t{1} << (margin.value_bits - 1)) - 1);
}

Margin margin_of(const PlanRequest& request) {
  Margin margin;
  margin.method = request.method;
  margin.values = request.values;
  margin.degree = request.degree;
  margin.pieces = request.pieces;
  margin.weight_sum = request.contributors * request.weight;
  margin.weight_norm =
      std::sqrt(static_cast<double>(request.contributors)) * static_cast<double>(request.weight);
  margin.openings = (request.values + request.degree - 1) / request.degree * request.rounds;
  margin.opening_bits = request.opening_bits;
  margin.failure_bits = request.failure_bits;
  margin.value_bits = request.value_bits;
  if (request.method == Method::lattice) {
    margin.flooding_log2 = static_cast<int>(std::ceil(least_flooding_log2(margin)));
    margin.share_dropped = std::max(0, margin.flooding_log2 - kept_below_flooding);
  }
  margin.sum_bits = bits_of(largest_sum(margin)) + 1;
  return margin;
}

// BFV with two primes of these bits together.
rlwe::Parameters parameters_of(const PlanRequest& request, int sum_bits, int modulus_bits) {
  if (modulus_bits > most_modulus_bits || sum_bits >= 60) {
    throw ParameterError("sums of " + std::to_string(sum_bits) + " bits take a modulus of " +
                         std::to_string(modulus_bits) + " bits, and there is room for " +
                         std::to_string(most_modulus_bits) +
                         "; choose fewer bits, contributors, rounds or smaller weights");
  }
  const std::uint64_t step = 2 * request.degree;
  const int high = (modulus_bits + 1) / 2, low = modulus_bits / 2;
  std::vector<std::uint64_t> primes = arith::primes_below(std::uint64_t{1} << high, step, 1);
  if (primes.size() == 1) {
    const auto second = arith::primes_below(std::uint64_t{1} << low, step, 1, primes);
    primes.insert(primes.end(), second.begin(), second.end());
  }
  if (primes.size() != 2) {
    throw ParameterError("there are no two primes of " + std::to_string(low) + " bits for degree " +
                         std::to_string(request.degree) + "; choose a smaller degree or more opening bits");
  }
  rlwe::ParametersLiteral literal;
  literal.scheme = rlwe::Scheme::bfv;
  literal.degree = request.degree;
  literal.levels = {primes};
  literal.plain_modulus = std::uint64_t{1} << sum_bits;
  literal.security = request.security;
  return rlwe::Parameters(std::move(literal));
}

// A ring whose prime is the least above twice the largest sum.
rlwe::Parameters parameters_of_masks(const PlanRequest& request, const Margin& margin) {
  const auto largest = static_cast<std::uint64_t>(largest_sum(margin));
  const std::uint64_t step = 2 * request.degree, least = std::max(2 * largest + 1, 4 * step);
  const std::vector<std::uint64_t> primes =
      arith::primes_nearest(static_cast<double>(least), step, 1, least, std::uint64_t{1} << 60);
  if (margin.sum_bits >= 60 || primes.empty()) {
    throw ParameterError(
        "sums of " + std::to_string(margin.sum_bits) +
        " bits have no prime below 2^60; choose fewer bits, contributors or smaller weights");
  }
  rlwe::ParametersLiteral literal;
  literal.scheme = rlwe::Scheme::bfv;
  literal.degree = request.degree;
  literal.levels = {primes};
  literal.plain_modulus = 2;
  literal.security = std::nullopt;
  return rlwe::Parameters(std::move(literal));
}

rlwe::Parameters parameters_of(const PlanRequest& request, const Margin& margin) {
  if (request.method == Method::masks) return parameters_of_masks(request, margin);
  const double bits = margin.sum_bits + room_log2 + opened_noise_log2(margin) + 0.02;
  return parameters_of(request, margin.sum_bits, static_cast<int>(std::ceil(bits)));
}

}  // namespace

double error_norm_log2(const Margin& margin) {
  const auto n = static_cast<double>(margin.degree);
  // For all openings together.
  const double nats = margin.failure_bits * std::log(2.0) + std::log(static_cast<double>(margin.openings));
  return std::log2(margin.sigma * margin.weight_norm) +
         0.5 * std::log2(n + 2 * std::sqrt(n * nats) + 2 * nats);
}

double noise_log2(const Margin& margin) {
  const double uploads = std::log2(static_cast<double>(margin.weight_sum)) + margin.upload_dropped - 1;
  return rlwe::add_log2(opened_noise_log2(margin), margin.upload_dropped == 0 ? -1000 : uploads);
}

namespace {

void require_flooding(const Margin& margin) {
  const double least = least_flooding_log2(margin);
  if (!(margin.flooding_log2 >= least)) {
    throw NoiseError("a flooding of deviation 2^" + std::to_string(margin.flooding_log2) +
                     " does not hide errors that need 2^" + decimal(least) +
                     ": shares would tell about single contributors; make the plan anew");
  }
  const double noise = noise_log2(margin);
  if (!(noise < margin.delta_log2 - 1)) {
    throw NoiseError("noise of up to 2^" + decimal(noise) + " does not stay below half of Delta, 2^" +
                     decimal(margin.delta_log2 - 1) + ": sums would be wrong; make the plan anew");
  }
}

}  // namespace

void require_margin(const Margin& margin) {
  if (margin.method == Method::lattice) require_flooding(margin);
  const auto largest = static_cast<double>(largest_sum(margin));
  if (!(largest < std::exp2(margin.sum_bits - 1))) {
    throw NoiseError("sums of up to " + decimal(largest) + " do not fit " + std::to_string(margin.sum_bits) +
                     " bits; make the plan anew");
  }
}

Plan::Plan(const PlanRequest& request)
    : request_((require_request(request), request)),
      margin_(margin_of(request)),
      parameters_(parameters_of(request, margin_)) {
  if (request.method == Method::lattice) {
    margin_.sigma = parameters_.literal().sigma;
    margin_.delta_log2 = log2_of(delta());
    const double room = std::exp2(margin_.delta_log2 - 1) - std::exp2(opened_noise_log2(margin_));
    const double dropped = std::log2(room * 0.999 / static_cast<double>(margin_.weight_sum));
    margin_.upload_dropped = std::max(0, static_cast<int>(std::floor(dropped)) + 1);
  }
  require_margin(margin_);
  if (upload_bits() > 64 || share_bits() > 64 || bits_of(modulus()) + bits_of(margin_.weight_sum) > 127) {
    throw ParameterError(
        "values of this plan do not fit words of 64 bits, or their sums 128; choose fewer bits, contributors "
        "or smaller weights");
  }
}

std::size_t Plan::polynomials() const { return (request_.values + request_.degree - 1) / request_.degree; }

arith::uint128 Plan::modulus() const {
  arith::uint128 product = 1;
  for (const std::uint64_t prime : parameters_.literal().levels.front()) product *= prime;
  return product;
}

arith::uint128 Plan::delta() const {
  return request_.method == Method::masks ? 1 : modulus() >> margin_.sum_bits;
}

int Plan::upload_bits() const {
  const int dropped = margin_.upload_dropped;
  return bits_of((modulus() + ((static_cast<arith::uint128>(1) << dropped) >> 1)) >> dropped);
}

int Plan::share_bits() const {
  const int dropped = margin_.share_dropped;
  return bits_of((modulus() + ((static_cast<arith::uint128>(1) << dropped) >> 1)) >> dropped);
}

}  // namespace hemera::multiparty
