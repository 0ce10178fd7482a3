#include "circuits/circuit_gadgets.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/circuits/time_estimate.hpp"
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

// As many primes as the security and `most` allow, at most one more than the base has.
Primes special_primes(const rlwe::Parameters& parameters, const Primes& base, std::size_t most) {
  const auto& wanted = parameters.literal().security;
  const double limit =
      wanted
          ? static_cast<double>(
                rlwe::max_log_modulus(parameters.degree(), *wanted, parameters.literal().secret).value_or(0))
          : std::numeric_limits<double>::infinity();
  Primes special = pool_of(parameters);
  std::erase_if(
      special, [&](std::uint64_t prime) { return std::find(base.begin(), base.end(), prime) != base.end(); });
  special.resize(std::min({special.size(), most, base.size() + 1}));
  while (!special.empty() && arith::log2_product(base) + arith::log2_product(special) > limit)
    special.pop_back();
  if (special.empty()) {
    throw ParameterError("no special prime is left for a key over " + std::to_string(base.size()) +
                         " primes; use smaller levels or a larger degree");
  }
  return special;
}

double switching_work(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget) {
  const std::size_t limbs = gadget.base.size();
  return work_of({.operation = poly::Operation::switch_keys,
                  .degree = parameters.degree(),
                  .base = std::vector<std::uint32_t>(limbs),
                  .target = limbs,
                  .extended = limbs + gadget.special.size(),
                  .digits = rlwe::key_digits(gadget),
                  .divides = true});
}

// Bits of P over digits of rotations.
constexpr double least_margin_bits = 10;

// Digits of a key for products of several levels, at most.
constexpr std::size_t most_common_digits = 4;

// Digits in the order of the base. The longest primes first, each to the digit that is shortest till then.
std::vector<Primes> spread_digits(const Primes& base, std::size_t count) {
  std::vector<std::size_t> order(base.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::bit_width(base[a]) > std::bit_width(base[b]);
  });
  std::vector<std::vector<std::size_t>> places(count);
  std::vector<double> bits(count, 0);
  for (const std::size_t place : order) {
    const auto shortest = std::min_element(bits.begin(), bits.end()) - bits.begin();
    bits[static_cast<std::size_t>(shortest)] += std::log2(static_cast<double>(base[place]));
    places[static_cast<std::size_t>(shortest)].push_back(place);
  }
  std::vector<Primes> digits;
  for (auto& own : places) {
    std::sort(own.begin(), own.end());
    Primes& digit = digits.emplace_back();
    for (const std::size_t place : own) digit.push_back(base[place]);
  }
  return digits;
}

double longest_digit(const rlwe::GadgetPrimes& gadget) {
  double longest = 0;
  for (const Primes& digit : gadget.digits) longest = std::max(longest, arith::log2_product(digit));
  return longest;
}

bool exceeds_special(const rlwe::GadgetPrimes& gadget) {
  return longest_digit(gadget) > arith::log2_product(gadget.special) + rlwe::digit_excess_bits;
}

}  // namespace

rlwe::GadgetPrimes rotation_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most) {
  rlwe::GadgetPrimes gadget{.base = parameters.literal().levels.at(level)};
  gadget.special = special_primes(parameters, gadget.base, most);
  const std::size_t longest = std::max<std::size_t>(1, gadget.special.size() - 1);
  const std::size_t digits = (gadget.base.size() + longest - 1) / longest;
  gadget.digits = rlwe::equal_digits(gadget.base, digits);
  gadget.special.resize(std::min(gadget.special.size(), gadget.digits.front().size() + 1));
  return gadget;
}

rlwe::GadgetPrimes spread_rotation_gadget(const rlwe::Parameters& parameters, std::size_t level) {
  const Primes& base = parameters.literal().levels.at(level);
  const Primes special = special_primes(parameters, base, most_special_primes);
  rlwe::GadgetPrimes usual = rotation_gadget(parameters, level, most_special_primes);
  for (std::size_t count = 1; count <= usual.digits.size(); ++count) {
    const std::vector<Primes> digits = spread_digits(base, count);
    double longest = 0;
    for (const Primes& digit : digits) longest = std::max(longest, arith::log2_product(digit));
    for (std::size_t primes = 1; primes <= special.size(); ++primes) {
      if (count == usual.digits.size() && primes >= usual.special.size()) break;
      const Primes own(special.begin(), special.begin() + static_cast<std::ptrdiff_t>(primes));
      if (arith::log2_product(own) < longest + least_margin_bits) continue;
      return {.base = base, .special = own, .digits = digits};
    }
  }
  return usual;
}

rlwe::GadgetPrimes short_rotation_gadget(const rlwe::Parameters& parameters, std::size_t level) {
  rlwe::GadgetPrimes gadget = spread_rotation_gadget(parameters, level);
  std::set<std::uint64_t> others{gadget.special.back()};
  for (const Primes& base : parameters.literal().levels) others.insert(base.begin(), base.end());
  for (const Primes* taken : {&gadget.base, &gadget.special}) {
    for (const std::uint64_t prime : *taken) others.erase(prime);
  }
  const double least = longest_digit(gadget) + least_margin_bits;
  for (const std::uint64_t prime : others) {
    rlwe::GadgetPrimes own = gadget;
    own.special.back() = prime;
    if (arith::log2_product(own.special) >= least) return own;
  }
  return gadget;
}

rlwe::GadgetPrimes product_gadget(const rlwe::Parameters& parameters, std::size_t level, std::size_t most) {
  const Primes& base = parameters.literal().levels.at(level);
  const Primes special = special_primes(parameters, base, most);
  rlwe::GadgetPrimes best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t count = 1; count <= special.size(); ++count) {
    rlwe::GadgetPrimes gadget{
        .base = base,
        .special = {special.begin(), special.begin() + static_cast<std::ptrdiff_t>(count)},
        .digits = {}};
    gadget.digits = rlwe::consecutive_digits(base, gadget.special, rlwe::digit_excess_bits);
    // Single primes above all special ones together have digits of their own all the same.
    const bool is_last = count == special.size() && best.digits.empty();
    if (!is_last && exceeds_special(gadget)) continue;
    const double work = switching_work(parameters, gadget);
    if (work >= least) continue;
    least = work;
    best = std::move(gadget);
  }
  return best;
}

SwitchSize product_switch_size(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget,
                               std::size_t level) {
  const Primes& base = parameters.literal().levels.at(level);
  const Primes lent = rlwe::lent_primes(gadget, base);
  const auto has = [](const Primes& primes, std::uint64_t prime) {
    return std::find(primes.begin(), primes.end(), prime) != primes.end();
  };
  SwitchSize size{.digits = 0, .special = gadget.special.size() + lent.size()};
  for (const Primes& digit : gadget.digits) {
    Primes own = digit;
    std::erase_if(own, [&](std::uint64_t prime) { return !has(base, prime) && !has(lent, prime); });
    if (std::none_of(own.begin(), own.end(), [&](std::uint64_t prime) { return has(base, prime); })) continue;
    ++size.digits;
    size.longest = std::max(size.longest, arith::log2_product(own));
  }
  size.longest -= arith::log2_product(gadget.special) + arith::log2_product(lent);
  return size;
}

std::vector<rlwe::GadgetPrimes> common_product_gadgets(const rlwe::Parameters& parameters,
                                                       const std::set<std::size_t>& levels) {
  // The lowest level's primes first.
  Primes base;
  for (const std::size_t level : levels) {
    for (const std::uint64_t prime : parameters.literal().levels.at(level)) {
      if (std::find(base.begin(), base.end(), prime) == base.end()) base.push_back(prime);
    }
  }
  const Primes special = special_primes(parameters, base, most_special_primes);
  std::vector<rlwe::GadgetPrimes> result;
  for (std::size_t count = 1; count <= special.size(); ++count) {
    const Primes own(special.begin(), special.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::vector<Primes>> tried{rlwe::consecutive_digits(base, own, rlwe::digit_excess_bits)};
    for (std::size_t digits = 1; digits <= most_common_digits; ++digits) {
      tried.push_back(spread_digits(base, digits));
    }
    for (std::vector<Primes>& digits : tried) {
      rlwe::GadgetPrimes gadget{.base = base, .special = own, .digits = std::move(digits)};
      const bool serves = std::all_of(levels.begin(), levels.end(), [&](std::size_t level) {
        const SwitchSize size = product_switch_size(parameters, gadget, level);
        return size.special <= most_special_primes && size.longest <= rlwe::digit_excess_bits + 1e-9;
      });
      if (serves) result.push_back(std::move(gadget));
    }
  }
  return result;
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

rlwe::GadgetPrimes from_block_gadget(const rlwe::Parameters& parameters, std::size_t level) {
  const Primes& base = parameters.literal().levels.at(level);
  return {.base = base, .special = first_of_pool(parameters, 1), .digits = {base}};
}

}  // namespace hemera::circuits
