#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/modulus_chain.hpp"
#include "hemera/rlwe/chain_builder.hpp"
#include "hemera/rlwe/gadget_choice.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "runtime/decimal.hpp"

namespace hemera::ckks {
namespace {

using Primes = std::vector<std::uint64_t>;

constexpr int fast_bits = 50;  // primes below 2^50 run on IFMA and FP64 units
constexpr int largest_bits = 60;
constexpr int smallest_bits = 20;
constexpr int largest_scale_bits = 120;

std::uint64_t bound_for(int bits) {
  return std::uint64_t{1} << (bits <= fast_bits ? fast_bits : largest_bits + 1);
}

std::uint64_t require_one(const Primes& found, std::size_t degree, double bits) {
  if (found.empty()) {
    throw ParameterError("there is no NTT prime left of about " + std::to_string(std::lround(bits)) +
                         " bits for degree " + std::to_string(degree) + "; use another prime size or degree");
  }
  return found.front();
}

// Primes that a level drops for a scale of this many bits: one up to 60 bits, else as few of one size as stay
// below 2^50 with some room around that size.
int primes_a_level(int scale_bits) {
  return scale_bits <= largest_bits ? 1 : static_cast<int>(std::ceil(scale_bits / (fast_bits - 0.5)));
}

// The primes that each level above the last drops, top level first. Their product is as near as possible to
// S_l^2 / scale, so that the scales S_(l-1) = S_l^2 / ratio of automatic mode stay near `scale`.
std::vector<Primes> rescaling_primes(std::size_t degree, double scale, std::size_t levels, Primes taken) {
  const std::uint64_t step = 2 * degree;
  const int bits = static_cast<int>(std::lround(std::log2(scale)));
  const int count = primes_a_level(bits);
  // A scale within a hair of 2^50 needs primes on both sides of it.
  const std::uint64_t bound = bound_for(bits / count + 1);
  std::vector<Primes> dropped;
  double level_scale = scale;
  for (std::size_t i = 0; i < levels; ++i) {
    double target = level_scale * level_scale / scale;
    double ratio = 1;
    Primes& primes = dropped.emplace_back();
    for (int left = count; left > 0; --left) {
      const double size = left == 1 ? target : std::pow(target, 1.0 / left);
      const std::uint64_t prime =
          require_one(arith::primes_nearest(size, step, 1, step, bound, taken), degree, std::log2(size));
      primes.push_back(prime);
      taken.push_back(prime);
      target /= static_cast<double>(prime);
      ratio *= static_cast<double>(prime);
    }
    level_scale = level_scale * level_scale / ratio;
  }
  return dropped;
}

// The primes of the last base: as few as hold `bits` bits, below 2^50 if they can be. The largest primes
// below 2^50 are left for the special ones, which must not be smaller: `reserved` of them.
Primes last_base_primes(std::size_t degree, int bits, std::size_t reserved) {
  const auto count = static_cast<std::size_t>((bits + fast_bits - 1) / fast_bits);
  const int each = (bits + static_cast<int>(count) - 1) / static_cast<int>(count);
  const Primes special = arith::primes_below(std::uint64_t{1} << fast_bits, 2 * degree, reserved);
  Primes primes = arith::primes_below(std::uint64_t{1} << each, 2 * degree, count, special);
  if (primes.size() < count || std::log2(primes.back()) < each - 0.5) {
    throw ParameterError("there are not " + std::to_string(count) + " NTT primes of " + std::to_string(each) +
                         " bits for degree " + std::to_string(degree) + "; use a larger scale");
  }
  return primes;
}

// A last base and what the levels above it have more, top level first.
std::vector<Primes> chain_of(const Primes& last, const std::vector<Primes>& dropped) {
  std::vector<Primes> levels = {last};
  for (auto primes = dropped.rbegin(); primes != dropped.rend(); ++primes) {
    levels.push_back(levels.back());
    levels.back().insert(levels.back().end(), primes->begin(), primes->end());
  }
  return levels;
}

// Scales from the lowest of the user's levels up: S_l = sqrt(S_(l-1) r_l), which halves every deviation where
// the recursion from the top doubles it. The scales of a circuit's levels are its own business: they get
// those of the nearest user's level.
std::vector<rlwe::LevelScale> scales_from_below(const std::vector<Primes>& levels, double scale,
                                                std::size_t lowest, std::size_t highest) {
  std::vector<rlwe::LevelScale> scales(levels.size());
  double current = scale;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const double ratio = level == 0 ? 0 : poly::modulus_ratio(levels[level], levels[level - 1]);
    if (level > lowest && level <= highest) current = std::sqrt(current * ratio);
    scales[level] = {.scale = current, .product_scale = current * current, .divisor = ratio};
  }
  return scales;
}

// One scale for all levels.
std::vector<rlwe::LevelScale> equal_scales(const std::vector<Primes>& levels, double scale) {
  std::vector<rlwe::LevelScale> scales(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const double ratio = level == 0 ? 0 : poly::modulus_ratio(levels[level], levels[level - 1]);
    scales[level] = {.scale = scale, .product_scale = scale * scale, .divisor = ratio};
  }
  return scales;
}

// Whether the scales that follow from the top of a chain leave the scale by more than two bits.
bool drifts(const std::vector<Primes>& levels, double scale) {
  double current = scale;
  for (std::size_t level = levels.size(); level-- > 1;) {
    current = current * current / poly::modulus_ratio(levels[level], levels[level - 1]);
    if (!(std::abs(std::log2(current / scale)) <= 2)) return true;
  }
  return false;
}

// Bits of the scale at this degree, with room for the flooding of results that are shown.
int scale_bits_for(const CircuitRequest& request, std::size_t degree) {
  if (request.sharing_bits == 0) return request.scale_bits;
  const double samples = 12 * static_cast<double>(request.shares) * static_cast<double>(degree);
  // Deviations of a group's floodings are powers of two.
  const int pieces =
      request.pieces == 1
          ? 0
          : 1 + static_cast<int>(std::ceil(0.5 * std::log2(static_cast<double>(request.pieces))));
  return request.scale_bits + pieces +
         static_cast<int>(std::ceil(0.5 * request.sharing_bits + 0.5 * std::log2(samples)));
}

// Bits of range, and bits that the last base has above the scale for them.
struct Range {
  int bits;
  int above_scale;
};

Range range_of(const CircuitRequest& request) {
  if (!request.range_bits) {
    if (!(request.largest >= 0 && request.largest <= std::exp2(largest_bits - 1))) {
      throw ParameterError("largest must be a bound of at most 2^59 on the magnitude of values, not " +
                           decimal(request.largest));
    }
    const int bits = request.largest == 0
                         ? default_range_bits
                         : std::max(1, static_cast<int>(std::ceil(std::log2(request.largest))) + 1);
    return {bits, bits + spare_bits};
  }
  const int bits = *request.range_bits;
  if (request.largest != 0) {
    throw ParameterError("range_bits and largest say the same in two ways; give one of them");
  }
  if (bits < 1 || bits > largest_bits) {
    throw ParameterError("range_bits must be from 1 to 60, not " + std::to_string(bits));
  }
  return {bits, bits < least_spared_range_bits ? bits : bits + spare_bits};
}

}  // namespace

bool checks_range(const rlwe::Parameters& parameters) {
  const rlwe::ParametersLiteral& literal = parameters.literal();
  if (parameters.scheme() != rlwe::Scheme::ckks || literal.galois_generator != 5 || literal.range_bits == 0) {
    return false;
  }
  // Primes are up to half a bit short in all.
  return parameters.log_modulus(0) >= std::log2(parameters.scale()) + literal.range_bits + spare_bits - 0.5;
}

rlwe::Parameters parameters_for(const CircuitRequest& request) {
  rlwe::require_security_class(request.security);
  if (request.scale_bits < smallest_bits || request.scale_bits > largest_scale_bits) {
    throw ParameterError("scale_bits must be from " + std::to_string(smallest_bits) + " to " +
                         std::to_string(largest_scale_bits) + ", not " + std::to_string(request.scale_bits));
  }
  if (request.sharing_bits < 0 || request.sharing_bits > 64 || request.shares < 1) {
    throw ParameterError("sharing_bits must be from 0 to 64, and shares at least 1, not " +
                         std::to_string(request.sharing_bits) + " and " + std::to_string(request.shares));
  }
  if (request.pieces < 1) throw ParameterError("a secret has at least 1 piece, not 0");
  const Range range = range_of(request);
  if (request.slots < 1 || request.slots > poly::max_degree / 2) {
    throw ParameterError("slots must be from 1 to 2^16, not " + std::to_string(request.slots));
  }
  if (request.depth > 1000) {
    throw ParameterError("a depth of " + std::to_string(request.depth) +
                         " is more than the 1000 that parameters are searched for");
  }
  std::size_t degree = std::max({poly::min_degree, 2 * std::bit_ceil(request.slots), request.degree});
  if (!std::has_single_bit(degree)) {
    throw ParameterError("degree " + std::to_string(degree) + " is not a power of two");
  }
  for (; degree <= poly::max_degree; degree *= 2) {
    const double limit =
        !request.security ? HUGE_VAL : rlwe::max_log_modulus(degree, *request.security).value_or(0);
    const int scale_bits = scale_bits_for(request, degree);
    if (scale_bits > largest_scale_bits) {
      throw ParameterError("showing results with " + std::to_string(request.sharing_bits) +
                           " statistical bits in " + std::to_string(request.shares) +
                           " shares takes a scale of " + std::to_string(scale_bits) +
                           " bits, more than 120; use a smaller scale, fewer sharing_bits or fewer shares");
    }
    const double wanted_bits =
        static_cast<double>(scale_bits) * static_cast<double>(request.depth + 1) + range.above_scale;
    if (wanted_bits > limit) continue;
    const double scale = std::exp2(scale_bits);
    const std::size_t dropped_primes = static_cast<std::size_t>(primes_a_level(scale_bits)) * request.depth;
    const Primes last = last_base_primes(degree, scale_bits + range.above_scale, dropped_primes + 2);
    const auto dropped = rescaling_primes(degree, scale, request.depth, last);
    rlwe::ParametersLiteral literal;
    literal.scheme = rlwe::Scheme::ckks;
    literal.degree = degree;
    literal.levels = chain_of(last, dropped);
    literal.secret.terms = request.pieces;
    // Under a larger P the wider errors of a group's relinearization keys are as small as others'.
    const double margin = rlwe::product_key_factor_log2(degree, literal.secret);
    auto gadget = rlwe::choose_gadget(degree, literal.levels.back(), limit, request.digits, {}, margin);
    if (!gadget) gadget = rlwe::choose_gadget(degree, literal.levels.back(), limit, request.digits);
    if (!gadget) continue;
    literal.digits = gadget->digits;
    literal.special_primes = gadget->special_primes;
    literal.scale = scale;
    literal.range_bits = range.bits;
    literal.largest = request.largest;
    literal.security = request.security;
    return rlwe::Parameters(std::move(literal));
  }
  throw ParameterError("no degree up to 2^17 is secure for depth " + std::to_string(request.depth) +
                       " at a scale of " + std::to_string(scale_bits_for(request, poly::max_degree)) +
                       " bits" + (request.sharing_bits == 0 ? "" : ", which sharing results takes") +
                       "; use less depth, a smaller scale or more digits");
}

rlwe::Parameters parameters_from_bits(const ChainRequest& request) {
  const std::size_t degree = request.degree;
  if (!std::has_single_bit(degree) || degree < poly::min_degree || degree > poly::max_degree) {
    throw ParameterError("degree " + std::to_string(degree) + " is not a power of two from 2^10 to 2^17");
  }
  if (request.last_base < 1 || request.last_base > request.prime_bits.size()) {
    throw ParameterError("the last base has " + std::to_string(request.last_base) +
                         " primes, but the chain " + std::to_string(request.prime_bits.size()));
  }
  Primes taken;
  const auto largest_of_bits = [&](int bits) {
    if (bits < 2 || bits > arith::max_modulus_bits) {
      throw ParameterError("a prime of " + std::to_string(bits) + " bits is outside 2 to 61 bits");
    }
    const std::uint64_t prime =
        require_one(arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 1, taken), degree, bits);
    taken.push_back(prime);
    return prime;
  };
  rlwe::ParametersLiteral literal;
  literal.scheme = rlwe::Scheme::ckks;
  literal.degree = degree;
  literal.scale = request.scale;
  literal.range_bits = request.range_bits;
  literal.security = request.security;
  for (const int bits : request.special_bits) literal.special_primes.push_back(largest_of_bits(bits));
  Primes primes;
  double level_scale = request.scale;
  // From the top down, so that primes of the scale's size keep the level scales steady.
  for (std::size_t i = request.prime_bits.size(); i-- > 0;) {
    const int bits = request.prime_bits[i];
    const double target = level_scale * level_scale / request.scale;
    if (!request.equal_scales && i >= request.last_base && std::abs(std::log2(target) - bits) < 0.5) {
      const std::uint64_t prime = require_one(
          arith::primes_nearest(target, 2 * degree, 1, 2 * degree, bound_for(bits + 1), taken), degree, bits);
      taken.push_back(prime);
      primes.push_back(prime);
    } else {
      primes.push_back(largest_of_bits(bits));
    }
    level_scale = level_scale * level_scale / static_cast<double>(primes.back());
  }
  std::reverse(primes.begin(), primes.end());
  const auto last_end = primes.begin() + static_cast<std::ptrdiff_t>(request.last_base);
  std::vector<Primes> dropped;
  for (auto prime = primes.rbegin(); prime != std::make_reverse_iterator(last_end); ++prime) {
    dropped.push_back({*prime});
  }
  literal.levels = chain_of(Primes(primes.begin(), last_end), dropped);
  if (request.digits > primes.size()) {
    throw ParameterError(std::to_string(request.digits) + " digits are more than the " +
                         std::to_string(primes.size()) + " ciphertext primes; ask for fewer");
  }
  if (request.digits != 0) literal.digits = rlwe::equal_digits(primes, request.digits);
  if (request.equal_scales) {
    literal.rescaling = rlwe::RescalingPolicy::automatic(rlwe::Scheme::ckks);
    literal.rescaling->scales = equal_scales(literal.levels, request.scale);
  } else if (drifts(literal.levels, request.scale)) {
    const std::size_t top = literal.levels.size() - 1;
    literal.rescaling = rlwe::RescalingPolicy::automatic(rlwe::Scheme::ckks);
    literal.rescaling->scales = scales_from_below(literal.levels, request.scale, 0, top);
    literal.scale = literal.rescaling->scales[top].scale;
  }
  return rlwe::Parameters(std::move(literal));
}

rlwe::Parameters parameters_from_drops(const DropRequest& request) {
  rlwe::ParametersLiteral literal;
  literal.scheme = rlwe::Scheme::ckks;
  literal.degree = request.degree;
  if (!std::has_single_bit(request.degree) || request.degree < poly::min_degree ||
      request.degree > poly::max_degree) {
    throw ParameterError("degree " + std::to_string(request.degree) +
                         " is not a power of two from 2^10 to 2^17");
  }
  literal.levels = rlwe::build_chain(request.degree, request.last_bits, request.drops);
  literal.purposes = request.purposes;
  if (!literal.purposes.empty() && literal.purposes.size() != literal.levels.size()) {
    throw ParameterError("there are " + std::to_string(literal.purposes.size()) + " purposes for " +
                         std::to_string(literal.levels.size()) + " levels; give one for each, or none");
  }
  const auto is_user = [&](std::size_t level) {
    return literal.purposes.empty() || literal.purposes[level] == rlwe::LevelPurpose::user;
  };
  std::size_t lowest = 0, highest = literal.levels.size() - 1;
  while (lowest < highest && !is_user(lowest)) ++lowest;
  while (highest > lowest && !is_user(highest)) --highest;

  // The default gadget serves the user's levels; its security is theirs.
  const auto primes_of = [&](std::size_t up_to) {
    Primes all;
    for (std::size_t level = up_to + 1; level-- > 0;) {
      for (const std::uint64_t prime : literal.levels[level]) {
        if (std::find(all.begin(), all.end(), prime) == all.end()) all.push_back(prime);
      }
    }
    return all;
  };
  const Primes users = primes_of(highest);
  Primes others = primes_of(literal.levels.size() - 1);
  const Primes every = others;
  std::erase_if(others, [&](std::uint64_t prime) {
    return std::find(users.begin(), users.end(), prime) != users.end();
  });
  rlwe::require_security_class(request.security);
  const double limit =
      request.security ? rlwe::max_log_modulus(request.degree, *request.security).value_or(0) : HUGE_VAL;
  const auto gadget = rlwe::choose_gadget(request.degree, users, limit, request.digits, every);
  if (!gadget) {
    throw ParameterError("no gadget for the user's levels is secure at degree " +
                         std::to_string(request.degree) +
                         "; use a larger degree, smaller levels or more digits");
  }
  literal.special_primes = gadget->special_primes;
  literal.digits = gadget->digits;
  for (auto& digit : rlwe::consecutive_digits(others, literal.special_primes)) {
    literal.digits.push_back(std::move(digit));
  }
  literal.rescaling = rlwe::RescalingPolicy::automatic(rlwe::Scheme::ckks);
  literal.rescaling->scales = scales_from_below(literal.levels, request.scale, lowest, highest);
  literal.scale = literal.rescaling->scales[highest].scale;
  literal.range_bits = request.range_bits;
  literal.security = request.security;
  return rlwe::Parameters(std::move(literal));
}

}  // namespace hemera::ckks
