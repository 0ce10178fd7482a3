// Parameters of BFV and BGV with the levels of a bootstrap.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// Moves the primes of a level that the next lower one has to the front, in its order. Returns whether all are
// there.
bool nest(const std::vector<std::uint64_t>& low, std::vector<std::uint64_t>& high) {
  auto place = high.begin();
  for (const std::uint64_t prime : low) {
    const auto found = std::find(place, high.end(), prime);
    if (found == high.end()) return false;
    std::rotate(place, found, found + 1);
    ++place;
  }
  return true;
}

BootstrapSettings preset_of_one(const std::string& name) {
  BootstrapSettings settings;
  settings.order = BootstrapOrder::standard;
  settings.levels = 2;
  settings.scale_bits = 50;
  // Two primes: each a digit of the key to the ephemeral secret, whose errors then count for nothing.
  settings.last_bits = 54;
  settings.ratio_bits = 9.5;
  settings.slots_to_coefficients = {60, 60, 60};
  settings.coefficients_to_slots = {62, 62, 62};
  settings.eval_mod_error = -48;
  settings.constant_bits = 50;
  settings.arcsine = true;
  settings.arcsine_bits = 72;
  if (name == "bfv16-40" || name == "bfv11-test-40") {
    settings.last_bits = 62;
    settings.ratio_bits = 11.2;
    settings.slots_to_coefficients = {53, 53, 53};
    settings.coefficients_to_slots = {66, 66, 66};
    settings.eval_mod_error = -53.8;
    settings.constant_bits = 58;
    settings.doublings = 4;
    settings.arcsine_bits = 76;
  }
  if (name == "bfv15-22") {
    // What 868 bits hold, without an arcsine. The errors of one prime's key to the ephemeral secret are small
    // beside those of EvalMod here.
    settings.degree = std::size_t{1} << 15;
    settings.last_bits = 44;
    settings.ratio_bits = 11.5;
    settings.slots_to_coefficients = {36, 36};
    settings.coefficients_to_slots = {48, 48};
    settings.eval_mod_error = -35;
    settings.constant_bits = 37;
    settings.sine_degree = 31;
    settings.doublings = 2;
    settings.arcsine = false;
    settings.special_primes = 4;
  }
  if (name == "bfv16-32" || name == "bfv16-40" || name == "bfv15-22") return settings;
  if (name == "bfv11-test" || name == "bfv11-test-40") {
    settings.degree = std::size_t{1} << 11;
    settings.security = std::nullopt;
    return settings;
  }
  throw ParameterError("there is no preset \"" + name +
                       "\" for bootstrapping of BFV and BGV; there are bfv16-32, bfv16-40 and bfv15-22, and "
                       "bfv11-test and bfv11-test-40, which are not secure");
}

}  // namespace

BootstrapSettings integer_bootstrap_preset(const std::string& name, std::size_t terms) {
  BootstrapSettings settings = preset_of_one(name);
  const double range = static_cast<double>(settings.sine_range);
  settings.secret.terms = terms;
  settings.sine_range = sine_range_of(terms);
  // A series of one degree then has about the same error on the wider range.
  settings.doublings +=
      static_cast<std::size_t>(std::ceil(std::log2(static_cast<double>(settings.sine_range) / range)));
  return settings;
}

rlwe::Parameters parameters_for_bootstrapping(rlwe::Scheme scheme, std::uint64_t plain_modulus,
                                              const BootstrapSettings& settings) {
  if (scheme == rlwe::Scheme::ckks) {
    throw ParameterError("CKKS has no plaintext modulus; give parameters_for_bootstrapping settings alone");
  }
  if (settings.order != BootstrapOrder::standard) {
    throw ParameterError("bootstraps of " + rlwe::name(scheme) +
                         " have the order standard: there the noise needs no budget for a transform first");
  }
  const rlwe::Parameters chain = parameters_for_bootstrapping(settings);
  rlwe::ParametersLiteral literal = chain.literal();
  for (std::size_t level = 1; level <= chain.highest_user_level(); ++level) {
    if (nest(literal.levels[level - 1], literal.levels[level])) continue;
    throw ParameterError(
        "the primes of level " + std::to_string(level - 1) + " are not all in level " +
        std::to_string(level) +
        ", as exact bootstraps need them; take last_bits and scale_bits of 50, or multiples");
  }
  literal.scheme = scheme;
  literal.plain_modulus = plain_modulus;
  literal.scale = 0;
  literal.roots.clear();
  literal.rescaling = rlwe::RescalingPolicy::automatic(scheme);
  literal.rescaling->scales = chain.rescaling().scales;
  return rlwe::Parameters(std::move(literal));
}

}  // namespace hemera::circuits
