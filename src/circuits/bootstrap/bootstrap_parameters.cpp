#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod_scales.hpp"
#include "circuits/bootstrap/roots_of_unity.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {
namespace {

using rlwe::LevelPurpose;

// Bits of the series' coefficients: with fewer nothing is left of them, more do not fit 64-bit numbers.
constexpr int least_constant_bits = 10;
constexpr int most_constant_bits = 60;
// Bits by which EvalMod's last scale may miss the planned one where SlotToCoeff follows, which takes any.
constexpr double most_off_bits = 1;
constexpr std::size_t least_blocks = 4, most_blocks = 1024;
// Bits of the primes of the key to a secret in blocks: both are below 2^50.
constexpr double largest_prime_bits = 50;

// The log2 error from which on that of nested products does not count: of sines and of exponentials.
constexpr double least_nested_error = -39, least_nested_exponential_error = -31;

SineShape sine_of(const BootstrapSettings& settings) {
  const SineShape usual;
  const std::size_t weight = settings.ephemeral_weight * settings.secret.terms;
  const bool is_near =
      settings.eval_mod_error >= least_nested_error && settings.ratio_bits >= std::log2(least_near_ratio);
  const bool fits =
      settings.order == BootstrapOrder::slots_first && !settings.arcsine &&
      settings.sine_range == usual.range && weight == usual.weight && settings.sine_degree == usual.degree &&
      settings.doublings == usual.doublings &&
      (settings.exponential ? settings.eval_mod_error >= least_nested_exponential_error : is_near);
  return {.range = settings.sine_range,
          .degree = settings.sine_degree,
          .doublings = settings.doublings,
          .exponential = settings.exponential,
          .nested = settings.nested_sine.value_or(fits),
          .weight = weight,
          .terms = settings.secret.terms};
}

// The levels above the lowest one, from the lowest up.
struct Chain {
  std::vector<double> drops;
  std::vector<LevelPurpose> purposes = {LevelPurpose::user};

  // Levels that a circuit goes through downwards, dropping these bits.
  void add(std::span<const double> downwards, LevelPurpose purpose) {
    drops.insert(drops.end(), downwards.rbegin(), downwards.rend());
    purposes.insert(purposes.end(), downwards.size(), purpose);
  }
};

// The scale (log2) that EvalMod's last step ends with, such that slots have the scale `slots` once the sine
// is taken for its angle.
double sine_scale_log2(double slots, double ratio_bits) {
  return slots + ratio_bits - std::log2(2 * std::numbers::pi);
}

// The scales that products of blocks begin with, from the sum of products down to the user's level. Errors of
// values that are multiplied later stay with twice as many, and each of them is the mean of half as many:
// they are equal at scales that fall by a bit.
std::vector<double> block_scales(const BootstrapSettings& settings) {
  const auto blocks = static_cast<double>(settings.blocks);
  const double depth = std::log2(blocks);
  const double rounding =
      0.5 * std::log2(division_variance(settings.degree, settings.secret, settings.degree / 2));
  double scale = rounding + 0.5 * std::log2(depth * blocks / 2) - std::log2(2 * std::numbers::pi) -
                 settings.eval_mod_error;
  std::vector<double> scales;
  for (std::size_t i = 0; i < static_cast<std::size_t>(depth); ++i) scales.push_back(scale--);
  scales.push_back(settings.scale_bits +
                   std::log2(roots_gain(std::exp2(settings.ratio_bits), settings.exponential)));
  return scales;
}

// Level by level from `first` down, scales in a geometric row between the two ends' ones.
void interpolate(std::vector<rlwe::LevelScale>& scales, std::size_t first, std::size_t count) {
  const double top = scales[first].scale;
  const double ratio = scales[first - count].scale / top;
  for (std::size_t i = 1; i < count; ++i) {
    scales[first - i].scale = top * std::pow(ratio, static_cast<double>(i) / static_cast<double>(count));
  }
}

void fill_block_scales(std::vector<rlwe::LevelScale>& scales, const rlwe::Parameters& chain,
                       const BootstrapSettings& settings) {
  const std::size_t end = chain.highest_user_level();
  scales[0].scale = last_modulus(chain) / std::exp2(settings.ratio_bits);
  interpolate(scales, chain.lowest_user_level(), settings.slots_to_coefficients.size());
  double below = scales[end].scale * roots_gain(std::exp2(settings.ratio_bits), settings.exponential);
  for (std::size_t level = end + 1; level + 1 < scales.size(); ++level) {
    below = std::sqrt(below * scales[level].divisor);
    scales[level].scale = below;
  }
  scales.back().scale = std::exp2(block_scale_bits);
}

// The scales of the circuits' levels, exact for the chain's primes. `v`, `end`: that which EvalMod begins
// with, and log2 of its last sine's.
void fill_scales(std::vector<rlwe::LevelScale>& scales, const rlwe::Parameters& chain,
                 const BootstrapSettings& settings, double v, double end_log2) {
  const bool is_slots_first = settings.order == BootstrapOrder::slots_first;
  const double q0 = last_modulus(chain);
  const double ratio = is_slots_first ? std::exp2(settings.ratio_bits) : q0 / scales[0].scale;
  const bool is_standard = settings.order == BootstrapOrder::standard;
  const std::size_t high_matrices = is_standard ? settings.slots_to_coefficients.size() : 0;
  const std::size_t end = chain.highest_user_level() + high_matrices;
  const std::size_t corrections = settings.arcsine ? arcsine_steps : 0;
  const SineShape sine_shape = sine_of(settings);
  const std::size_t steps = sine_step_count(sine_shape);
  const std::size_t begin = end + corrections + steps;
  scales.back().scale = q0;
  if (is_slots_first) scales[0].scale = q0 / ratio;

  std::vector<double> divisors;
  for (std::size_t i = 0; i < steps; ++i) divisors.push_back(scales[begin - i].divisor);
  const Arcsine arcsine = fit_arcsine(ratio);
  const auto result = [&](double v_scale) {
    const double sine = scales_after(sine_shape, v_scale, divisors, settings.constant_bits).back();
    if (!settings.arcsine) return sine;
    const double square = sine * sine / scales[end + 2].divisor;
    return square * square / (arcsine.square * scales[end + 1].divisor);
  };
  const double power = std::exp2(steps + corrections);
  if (!is_standard) {
    // The last step's result has the scale of the user's highest level.
    const double slope = settings.arcsine ? 1 : sine_slope(ratio);
    const double gain = settings.exponential ? 1 : ratio * slope / (2 * std::numbers::pi);
    const double wanted = scales[end].scale * gain;
    for (int round = 0; round < 3; ++round) v *= std::pow(wanted / result(v), 1 / power);
  } else {
    // Any end near the planned one will do. Each step doubles what a chain's primes lack, in bits.
    const auto off_bits = [&] { return end_log2 - std::log2(result(v)); };
    for (int round = 0; round < 3 && std::abs(off_bits()) > most_off_bits; ++round)
      v *= std::exp2(off_bits() / power);
  }
  scales[begin].scale = v;
  const auto after = scales_after(sine_shape, v, divisors, settings.constant_bits);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t level = begin - 1 - i;
    if (level > end) scales[level].scale = after[i];
  }
  if (settings.arcsine) scales[end + 1].scale = after.back() * after.back() / scales[end + 2].divisor;
  if (is_standard) {
    const double slope = settings.arcsine ? 1 : sine_slope(ratio);
    scales[end].scale = result(v) * 2 * std::numbers::pi / (ratio * slope);
    interpolate(scales, end, high_matrices);
  } else if (is_slots_first) {
    interpolate(scales, chain.lowest_user_level(), settings.slots_to_coefficients.size());
  }
  interpolate(scales, scales.size() - 1, settings.coefficients_to_slots.size());
}

// The bits that EvalMod's levels drop, and what begins them.
struct EvalModLevels {
  std::vector<double> drops;
  double v = 0, sine = 0;  // log2 of the scales of its first value, and of its last sine
};

EvalModLevels block_levels(const BootstrapSettings& settings) {
  const std::vector<double> scales = block_scales(settings);
  EvalModLevels levels;
  for (std::size_t i = 0; i + 1 < scales.size(); ++i) levels.drops.push_back(2 * scales[i] - scales[i + 1]);
  return levels;
}

EvalModLevels eval_mod_levels(const BootstrapSettings& settings) {
  const bool ends_in_slots = settings.order != BootstrapOrder::standard;
  const SineShape shape = sine_of(settings);
  // Other degrees have no parameters.
  const std::size_t degree = std::clamp<std::size_t>(settings.degree, 1024, 131072);
  const EvalModSeries series = checked_series(shape, std::exp2(settings.ratio_bits), degree);
  const EvalModScales scales =
      water_filled(shape, series, settings.eval_mod_error,
                   0.5 * std::log2(division_variance(settings.degree, settings.secret, settings.degree / 2)));
  EvalModLevels levels{.drops = {}, .v = scales.v};
  // The result of EvalMod: the slots themselves, or the input of SlotToCoeff.
  levels.sine = scales.after.back();
  if (ends_in_slots) levels.sine = sine_scale_log2(settings.scale_bits, settings.ratio_bits);
  if (settings.exponential) levels.sine = settings.scale_bits;
  levels.drops = dropped_bits(shape, scales, settings.constant_bits,
                              settings.arcsine ? scales.after.back() : levels.sine);
  if (settings.arcsine) {
    const double square = std::log2(fit_arcsine(std::exp2(settings.ratio_bits)).square);
    levels.drops.push_back(2 * scales.after.back() - settings.arcsine_bits);
    levels.drops.push_back(2 * settings.arcsine_bits - square - levels.sine);
  }
  return levels;
}

}  // namespace

void check_blocks(const BootstrapSettings& settings) {
  const bool is_power = std::has_single_bit(settings.blocks);
  if (!is_power || settings.blocks < least_blocks || settings.blocks > most_blocks) {
    throw ParameterError("a bootstrap by roots of unity with " + std::to_string(settings.blocks) +
                         " blocks; their number must be a power of two from " + std::to_string(least_blocks) +
                         " to " + std::to_string(most_blocks));
  }
  if (settings.order != BootstrapOrder::slots_first || settings.arcsine ||
      settings.coefficients_to_slots.size() != 1) {
    throw ParameterError(
        "a bootstrap by roots of unity takes slots first, without arcsine, and one level for its sum of "
        "products; give coefficients_to_slots one number, and leave the others out");
  }
  if (settings.last_bits > largest_prime_bits) {
    throw ParameterError("a bootstrap by roots of unity with " + std::to_string(settings.last_bits) +
                         " bits of q_0, which is one prime; give last_bits of at most 50");
  }
  rlwe::require_security_class(settings.security);
  if (!settings.security) return;
  const std::size_t degree = block_degree(settings.degree);
  const auto most = rlwe::max_log_modulus_of_blocks(degree, *settings.security, settings.blocks);
  const double bits = settings.last_bits + largest_prime_bits;
  if (most && bits <= *most) return;
  throw SecurityError("a key of " + std::to_string(bits) + " bits to a secret of " +
                      std::to_string(settings.blocks) + " blocks at degree " + std::to_string(degree) + ": " +
                      (most ? "at most " + std::to_string(*most) + " have " : "there is no estimate for ") +
                      std::to_string(*settings.security) +
                      " bits of security; use 64 blocks, a degree of 2^14 or more and a smaller last_bits");
}

rlwe::Parameters parameters_for_bootstrapping(const BootstrapSettings& settings) {
  const bool is_from_coefficients = settings.order == BootstrapOrder::from_coefficients;
  if (settings.levels == 0 || settings.coefficients_to_slots.empty() ||
      settings.slots_to_coefficients.empty() != is_from_coefficients) {
    throw ParameterError(
        "bootstrapping needs a level of the user's, and a matrix for each transform; from coefficients there "
        "is no SlotToCoeff, and slots_to_coefficients is empty");
  }
  if (settings.constant_bits < least_constant_bits || settings.constant_bits > most_constant_bits) {
    throw ParameterError("bootstrapping with " + std::to_string(settings.constant_bits) +
                         " bits after the point of EvalMod's coefficients; use from " +
                         std::to_string(least_constant_bits) + " to " + std::to_string(most_constant_bits));
  }
  const bool is_slots_first = settings.order == BootstrapOrder::slots_first;
  if (settings.exponential && (settings.arcsine || !is_slots_first)) {
    throw ParameterError(
        "an exponential in EvalMod's place is one of slots and has no arcsine; leave arcsine out, and let "
        "the order be slots-first");
  }
  if (settings.nested_sine.value_or(false) && settings.arcsine) {
    throw ParameterError(
        "nested products are a sine without an arcsine, or an exponential; leave nested_sine out, or "
        "arcsine");
  }
  if (settings.blocks != 0) check_blocks(settings);
  const EvalModLevels eval_mod = settings.blocks != 0 ? block_levels(settings) : eval_mod_levels(settings);
  Chain chain;
  if (is_slots_first) {
    chain.purposes = {LevelPurpose::slots_to_coefficients};
    chain.add(settings.slots_to_coefficients, LevelPurpose::slots_to_coefficients);
    chain.purposes.back() = LevelPurpose::user;
  }
  const std::vector<double> users(settings.levels, settings.scale_bits);
  chain.add(users, LevelPurpose::user);
  if (settings.order == BootstrapOrder::standard) {
    chain.add(settings.slots_to_coefficients, LevelPurpose::slots_to_coefficients);
  }
  chain.add(eval_mod.drops, LevelPurpose::eval_mod);
  chain.add(settings.coefficients_to_slots, LevelPurpose::coefficients_to_slots);

  const rlwe::Parameters drops = ckks::parameters_from_drops(
      {.degree = settings.degree,
       .last_bits = settings.last_bits,
       .drops = chain.drops,
       .purposes = chain.purposes,
       .scale = std::exp2(is_slots_first ? settings.scale_bits : settings.last_bits - settings.ratio_bits),
       .digits = settings.digits,
       .security = settings.security});
  rlwe::ParametersLiteral literal = drops.literal();
  literal.secret = settings.secret;
  literal.rescaling = drops.rescaling();
  std::vector<rlwe::LevelScale>& scales = literal.rescaling->scales;
  if (settings.blocks != 0) {
    fill_block_scales(scales, drops, settings);
  } else {
    fill_scales(scales, drops, settings, std::exp2(eval_mod.v), eval_mod.sine);
  }
  for (std::size_t level = 0; level < scales.size(); ++level) {
    if (drops.purpose(level) == LevelPurpose::user) continue;
    scales[level].product_scale = scales[level].scale * scales[level].scale;
  }
  std::vector<std::uint64_t> taken = drops.primes_up_to(drops.levels() - 1);
  taken.insert(taken.end(), literal.special_primes.begin(), literal.special_primes.end());
  if (literal.special_primes.size() < settings.special_primes) {
    const std::size_t missing = settings.special_primes - literal.special_primes.size();
    literal.key_primes = arith::primes_below(std::uint64_t{1} << 50, 2 * settings.degree, missing, taken);
  }
  return rlwe::Parameters(std::move(literal));
}

}  // namespace hemera::circuits
