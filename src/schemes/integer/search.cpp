#include "schemes/integer/search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/rlwe/flooding.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::integer {
namespace {

using Primes = std::vector<std::uint64_t>;

// Transforms below 2^49 need fewer reductions than up to 2^50.
constexpr std::uint64_t fast_bound = std::uint64_t{1} << 49;

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

// The plaintext modulus for a degree; 0 if there is no prime of the bits asked for.
std::uint64_t plain_modulus_for(const CircuitRequest& request, std::size_t degree) {
  if (request.plain_modulus != 0) return request.plain_modulus;
  const std::uint64_t upper = std::uint64_t{1} << request.plain_bits;
  const auto found = arith::primes_below(upper, 2 * degree, 1);
  return found.empty() || found.front() < upper / 2 ? 0 : found.front();
}

// Level 0 takes primes until it has `least` bits (all if they have fewer); each further level one more.
std::vector<Primes> levels_of(const Primes& primes, double least) {
  std::vector<Primes> levels;
  Primes base;
  for (const std::uint64_t prime : primes) {
    base.push_back(prime);
    if (base.size() == primes.size() || arith::log2_product(base) >= least) levels.push_back(base);
  }
  return levels;
}

// Consecutive digits whose numbers of primes differ by at most one.
std::vector<Primes> digits_of(const Primes& primes, std::size_t count) {
  std::vector<Primes> digits(count);
  std::size_t next = 0;
  for (std::size_t digit = 0; digit < count; ++digit) {
    const std::size_t size = primes.size() / count + (digit < primes.size() % count ? 1 : 0);
    for (std::size_t i = 0; i < size; ++i) digits[digit].push_back(primes[next++]);
  }
  return digits;
}

void check_request(const CircuitRequest& request) {
  if (request.plain_modulus == 0 && (request.plain_bits < 2 || request.plain_bits > 59)) {
    throw ParameterError("plain_bits must be from 2 to 59, not " + std::to_string(request.plain_bits));
  }
  if (request.slots > poly::max_degree) {
    throw ParameterError(std::to_string(request.slots) + " slots are more than the " +
                         std::to_string(poly::max_degree) +
                         " of the largest degree; use a batch of several ciphertexts");
  }
  if (request.terms == 0) throw ParameterError("terms must be at least 1");
  if (request.degree != 0 && (!std::has_single_bit(request.degree) || request.degree < poly::min_degree ||
                              request.degree > poly::max_degree)) {
    throw ParameterError("degree " + std::to_string(request.degree) +
                         " is not a power of two from 2^10 to 2^17");
  }
}

// An opening at the lowest level, where its noise is that of a modulus switch.
void require_openings(const Rules& rules, const CircuitRequest& request, const rlwe::Parameters& found) {
  if (!request.openings) return;
  const std::uint64_t t = found.plain_modulus();
  const double switched =
      rlwe::rounding_noise_log2(found.degree(), found.literal().secret, 2, rules.switching_half_range(t));
  const std::uint64_t factor = rlwe::error_factor(found);
  const double noise = rlwe::error_noise_log2(switched, factor);
  rlwe::require_flooding(*request.openings, found.degree(), noise,
                         rlwe::flooding_log2(*request.openings, found.degree(), noise),
                         found.log_modulus(0) - rules.room_log2(t) - std::log2(static_cast<double>(factor)));
}

// The literal of one candidate, or nothing if there are too few primes.
std::optional<rlwe::ParametersLiteral> build(const Rules& rules, const CircuitRequest& request,
                                             std::size_t degree, std::uint64_t t, const ChainSize& size,
                                             std::size_t digits) {
  const std::size_t special = (size.primes + digits - 1) / digits;
  const auto lower = static_cast<std::uint64_t>(std::ceil(std::exp2(size.bits)));
  const std::uint64_t taken[] = {t};
  Primes primes = arith::primes_nearest(static_cast<double>(lower), 2 * degree, size.primes + special, lower,
                                        fast_bound, taken);
  if (primes.size() < size.primes + special) return std::nullopt;
  // The special primes are the largest: then P is at least any digit.
  std::sort(primes.begin(), primes.end());
  rlwe::ParametersLiteral literal;
  literal.scheme = rules.scheme();
  literal.degree = degree;
  literal.plain_modulus = t;
  literal.security = request.security;
  literal.secret = request.secret();
  literal.special_primes.assign(primes.end() - static_cast<std::ptrdiff_t>(special), primes.end());
  primes.resize(size.primes);
  literal.levels = levels_of(primes, last_level_log2(rules, degree, t, request.openings));
  literal.digits = digits_of(primes, digits);
  return literal;
}

}  // namespace

double least_prime_bits(std::size_t degree) { return std::log2(static_cast<double>(degree)) + 12; }

double result_noise_log2(const Rules& rules, const std::optional<rlwe::Openings>& openings,
                         std::size_t degree, std::uint64_t plain_modulus, double noise_log2) {
  if (!openings) return noise_log2;
  const std::uint64_t factor = rules.scheme() == rlwe::Scheme::bgv ? plain_modulus : 1;
  const double errors = rlwe::error_noise_log2(noise_log2, factor);
  // One bit more: a power of two for a little more noise may be the next one.
  const int flooding = rlwe::flooding_log2(*openings, degree, errors) + 1;
  return rlwe::opened_noise_log2(*openings, degree, errors, flooding) +
         std::log2(static_cast<double>(factor));
}

double last_level_log2(const Rules& rules, std::size_t degree, std::uint64_t plain_modulus,
                       const std::optional<rlwe::Openings>& openings) {
  const rlwe::SecretDistribution secret{.terms = openings ? openings->pieces : 1};
  const double switched =
      rlwe::rounding_noise_log2(degree, secret, 2, rules.switching_half_range(plain_modulus)) + 1;
  return result_noise_log2(rules, openings, degree, plain_modulus, switched) +
         rules.room_log2(plain_modulus) + spare_bits;
}

double expected_switching_noise_log2(std::size_t degree, std::size_t primes, std::uint64_t plain_modulus,
                                     const rlwe::SecretDistribution& secret) {
  const auto terms = static_cast<double>(secret.terms);
  // d digits of k primes each under P: sqrt(d) k / 2 <= (primes + 1) / 2 in units of the digit's size.
  const double inner = std::log2(sigma * rlwe::tail_factor(degree)) +
                       0.5 * std::log2(static_cast<double>(degree)) +
                       std::log2(static_cast<double>(primes + 1) / 2) + 0.5 * std::log2(terms) +
                       rlwe::product_key_factor_log2(degree, secret);
  const double rounding =
      std::log2(0.5 * std::sqrt(static_cast<double>(degree) * terms + 1) * rlwe::tail_factor(degree));
  return rlwe::add_log2(inner, rounding) +
         (plain_modulus == 0 ? 0 : std::log2(static_cast<double>(plain_modulus)));
}

rlwe::Parameters search_parameters(const Rules& rules, const CircuitRequest& request,
                                   const ChainSizes& sizes) {
  check_request(request);
  rlwe::require_security_class(request.security);
  const std::size_t least_degree = std::max({poly::min_degree, request.degree, std::bit_ceil(request.slots)});
  std::string reason = "no degree was tried";
  for (std::size_t degree = least_degree; degree <= poly::max_degree; degree *= 2) {
    const std::string at = "at degree " + std::to_string(degree) + " ";
    const std::uint64_t t = plain_modulus_for(request, degree);
    if (t == 0) {
      reason = at + "there is no prime of " + std::to_string(request.plain_bits) +
               " bits that is 1 modulo 2N; ask for more plain_bits or name a plain_modulus";
      continue;
    }
    const std::size_t slots = rlwe::integer_slots(degree, t);
    if (request.slots > 1 && slots < request.slots) {
      throw ParameterError("the plaintext modulus " + std::to_string(t) + " has " +
                           (slots == 0 ? "no" : std::to_string(slots)) + " slots at degree " +
                           std::to_string(degree) + ", where " + std::to_string(request.slots) +
                           " are asked for: it is no prime that is 1 modulo " +
                           std::to_string(2 * std::bit_ceil(request.slots)) +
                           "; leave plain_modulus out and give plain_bits, or ask for a single slot and "
                           "encode coefficients");
    }
    std::optional<int> limit;
    if (request.security) {
      limit = rlwe::max_log_modulus(degree, *request.security);
      if (!limit) {
        reason = at + "no modulus has " + std::to_string(*request.security) + " bits of security";
        continue;
      }
    }
    const std::vector<ChainSize> candidates = sizes(degree, t);
    if (candidates.empty()) reason = at + "no chain of primes below 2^49 holds the circuit";
    double smallest = 0;
    for (const ChainSize& size : candidates) {
      const std::size_t least_digits =
          request.digits != 0 ? request.digits : std::min<std::size_t>(2, size.primes);
      const std::size_t most_digits = request.digits != 0 ? request.digits : size.primes;
      if (least_digits > size.primes) continue;
      for (std::size_t digits = least_digits; digits <= most_digits; ++digits) {
        auto literal = build(rules, request, degree, t, size, digits);
        if (!literal) continue;
        const double total =
            arith::log2_product(literal->levels.back()) + arith::log2_product(literal->special_primes);
        if (smallest == 0 || total < smallest) smallest = total;
        if (limit && total > *limit) continue;
        rlwe::Parameters found(std::move(*literal));
        require_openings(rules, request, found);
        return found;
      }
    }
    if (smallest > 0) {
      reason = at + "the circuit needs log2(Q P) = " + one_decimal(smallest) + ", but " +
               std::to_string(*request.security) + "-bit security allows " + std::to_string(*limit);
    } else if (!candidates.empty()) {
      reason = at +
               (request.digits != 0 ? std::to_string(request.digits) + " digits do not fit the chain, or "
                                    : std::string()) +
               "there are not enough NTT primes below 2^49";
    }
  }
  throw ParameterError("no " + rlwe::name(rules.scheme()) + " parameters hold a circuit of depth " +
                       std::to_string(request.depth) + ": " + reason +
                       "; reduce depth, terms or plaintext bits, or " +
                       Message(WayOut::no_security, "ask for no security level"));
}

rlwe::Parameters chain_parameters(const Rules& rules, const ChainRequest& request) {
  if (request.prime_bits.empty())
    throw ParameterError("a chain needs at least one prime: prime_bits is empty");
  rlwe::ParametersLiteral literal;
  literal.scheme = rules.scheme();
  literal.degree = request.degree;
  literal.plain_modulus = request.plain_modulus;
  literal.security = request.security;
  if (!std::has_single_bit(request.degree) || request.degree < poly::min_degree ||
      request.degree > poly::max_degree) {
    throw ParameterError("degree " + std::to_string(request.degree) +
                         " is not a power of two from 2^10 to 2^17");
  }
  Primes taken = {request.plain_modulus};
  const auto largest = [&](int bits) {
    if (bits < 2 || bits > arith::max_modulus_bits) {
      throw ParameterError("a prime of " + std::to_string(bits) + " bits is outside 2 to " +
                           std::to_string(arith::max_modulus_bits) + " bits");
    }
    const std::uint64_t upper = std::uint64_t{1} << bits;
    const auto found = arith::primes_below(upper, 2 * request.degree, 1, taken);
    if (found.empty() || found.front() < upper / 2) {
      throw ParameterError("there are not enough NTT primes of " + std::to_string(bits) +
                           " bits for degree " + std::to_string(request.degree) + "; use larger primes");
    }
    taken.push_back(found.front());
    return found.front();
  };
  // Special primes are chosen first, so that they are the larger ones where bits are equal.
  for (const int bits : request.special_bits) literal.special_primes.push_back(largest(bits));
  Primes primes;
  for (const int bits : request.prime_bits) primes.push_back(largest(bits));
  if (request.plain_modulus < 2) {
    throw ParameterError("plaintext modulus " + std::to_string(request.plain_modulus) +
                         " is outside [2, 2^60)");
  }
  literal.levels = levels_of(primes, last_level_log2(rules, request.degree, request.plain_modulus));
  if (request.digits > primes.size()) {
    throw ParameterError(std::to_string(request.digits) + " digits are more than the " +
                         std::to_string(primes.size()) + " ciphertext primes");
  }
  if (request.digits != 0) literal.digits = digits_of(primes, request.digits);
  return rlwe::Parameters(std::move(literal));
}

}  // namespace hemera::integer
