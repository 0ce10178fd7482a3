#include "circuits/circuit_gadgets.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Primes = std::vector<std::uint64_t>;

// The primes that keys may have for their P.
Primes pool_of(const rlwe::Parameters& parameters) {
  Primes pool = parameters.literal().special_primes;
  const Primes& others = parameters.literal().key_primes;
  pool.insert(pool.end(), others.begin(), others.end());
  return pool;
}

Primes first_of_pool(const rlwe::Parameters& parameters, std::size_t count) {
  Primes pool = pool_of(parameters);
  if (pool.size() < count) {
    throw ParameterError("bootstrapping needs " + std::to_string(count) +
                         " special primes, and these parameters have " + std::to_string(pool.size()));
  }
  pool.resize(count);
  return pool;
}

Primes special_primes(const rlwe::Parameters& parameters, const Primes& base, std::size_t most) {
  const auto& wanted = parameters.literal().security;
  const double limit =
      wanted
          ? static_cast<double>(
                rlwe::max_log_modulus(parameters.degree(), *wanted, parameters.literal().secret).value_or(0))
          : std::numeric_limits<double>::infinity();
  Primes special = pool_of(parameters);
  special.resize(std::min({special.size(), most, base.size() + 1}));
  while (!special.empty() && arith::log2_product(base) + arith::log2_product(special) > limit)
    special.pop_back();
  if (special.empty()) {
    throw ParameterError("no special prime is left for a key over " + std::to_string(base.size()) +
                         " primes; use smaller levels or a larger degree");
  }
  return special;
}

}  // namespace

rlwe::GadgetPrimes rotation_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most) {
  rlwe::GadgetPrimes gadget{.base = parameters.literal().levels.at(level)};
  gadget.special = special_primes(parameters, gadget.base, most);
  const std::size_t longest = std::max<std::size_t>(1, gadget.special.size() - 1);
  const std::size_t digits = (gadget.base.size() + longest - 1) / longest;
  const std::size_t group = (gadget.base.size() + digits - 1) / digits;
  for (std::size_t first = 0; first < gadget.base.size(); first += group) {
    const auto begin = gadget.base.begin() + static_cast<std::ptrdiff_t>(first);
    gadget.digits.emplace_back(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(group, gadget.base.size() - first)));
  }
  return gadget;
}

rlwe::GadgetPrimes product_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most) {
  rlwe::GadgetPrimes gadget{.base = parameters.literal().levels.at(level)};
  gadget.special = special_primes(parameters, gadget.base, most);
  gadget.digits = rlwe::consecutive_digits(gadget.base, gadget.special);
  return gadget;
}

rlwe::GadgetPrimes to_ephemeral_gadget(const rlwe::Parameters& parameters) {
  const Primes& base = parameters.literal().levels.front();
  rlwe::GadgetPrimes gadget{.base = base, .special = first_of_pool(parameters, 1), .digits = {}};
  for (const std::uint64_t prime : base) gadget.digits.push_back({prime});
  return gadget;
}

rlwe::GadgetPrimes from_ephemeral_gadget(const rlwe::Parameters& parameters, std::size_t level) {
  const Primes& base = parameters.literal().levels.at(level);
  return {.base = base, .special = first_of_pool(parameters, 2), .digits = {base}};
}

}  // namespace hemera::circuits
