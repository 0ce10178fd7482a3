// The settings of bootstraps that have names.
#include <optional>
#include <string>

#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// Presets for few real slots.
std::optional<BootstrapSettings> few_slots_preset(const std::string& name) {
  BootstrapSettings settings;
  // Few real slots at N = 2^15: one matrix each way for 64, two for 2,048.
  if (name == "n15-40" || name == "n15-36" || name == "n15-34" || name == "n15-30") {
    settings.degree = std::size_t{1} << 15;
    settings.levels = name == "n15-34" ? 3 : 4;
    settings.special_primes = 4;
  }
  if (name == "n15-40") {
    settings.last_bits = 43;
    settings.ratio_bits = 12.5;
    settings.slots_to_coefficients = {36};
    settings.coefficients_to_slots = {48};
    settings.eval_mod_error = -35.5;
    return settings;
  }
  if (name == "n15-36") {
    settings.scale_bits = 36;
    settings.last_bits = 40;
    settings.ratio_bits = 11.5;
    settings.slots_to_coefficients = {34};
    settings.coefficients_to_slots = {45};
    settings.eval_mod_error = -32.5;
    settings.constant_bits = 36;
    return settings;
  }
  if (name == "n15-34") {
    settings.scale_bits = 34;
    settings.last_bits = 40;
    settings.ratio_bits = 10.5;
    settings.slots_to_coefficients = {31, 31};
    settings.coefficients_to_slots = {45, 45};
    settings.eval_mod_error = -30;
    settings.constant_bits = 35;
    settings.nested_sine = false;  // a tenth of a bit less in the mean
    return settings;
  }
  if (name == "n15-30") {
    settings.scale_bits = 30;
    settings.last_bits = 37;
    settings.ratio_bits = 9.5;
    settings.slots_to_coefficients = {29, 29};
    settings.coefficients_to_slots = {45, 45};
    settings.eval_mod_error = -27;
    settings.constant_bits = 31;
    return settings;
  }
  // Presets by roots of unity.
  const bool is_exact = name == "n16-exact-few" || name == "test-exact-few";
  if (is_exact || name == "n16-40-few" || name == "test-few") {
    settings.levels = is_exact ? 16 : 4;
    if (is_exact) settings.ratio_bits = 8;
    settings.slots_to_coefficients = {34};
    settings.coefficients_to_slots = {45};
    settings.eval_mod_error = is_exact ? -29 : -36.6;
    settings.blocks = 64;
    settings.exponential = is_exact;
    if (name.starts_with("n16")) return settings;
    settings.degree = std::size_t{1} << 11;
    settings.security = std::nullopt;
    return settings;
  }
  return std::nullopt;
}

}  // namespace

BootstrapSettings bootstrap_preset(const std::string& name) {
  BootstrapSettings settings;
  if (name == "n16-40") return settings;
  // So few levels that CoeffToSlot's keys have two digits: a third less to upload.
  if (name == "n16-40-light") {
    settings.levels = 9;
    settings.special_primes = 12;
    return settings;
  }
  // Twice the integers of n16-40's ephemeral secrets, by a level more of the sine.
  if (name == "n16-40-sparse128") {
    settings.levels = 12;
    settings.ephemeral_weight = 128;
    settings.sine_range = 44;
    settings.sine_degree = 31;
    return settings;
  }
  if (name == "n16-40-precise") {
    settings.levels = 12;
    settings.last_bits = 47;
    settings.ratio_bits = 13;
    settings.slots_to_coefficients = {36, 36, 36};
    settings.coefficients_to_slots = {50, 50, 50};
    settings.eval_mod_error = -39.5;
    settings.constant_bits = 42;
    return settings;
  }
  if (name == "n16-45") {
    settings.levels = 8;
    settings.scale_bits = 45;
    settings.last_bits = 50;
    settings.ratio_bits = 9;
    settings.slots_to_coefficients = {43, 43, 43};
    settings.coefficients_to_slots = {52, 52, 52};
    settings.eval_mod_error = -41.5;
    settings.constant_bits = 44;
    settings.arcsine = true;
    settings.arcsine_bits = 54;
    settings.special_primes = 9;
    return settings;
  }
  // Presets for iterations: two, and three.
  if (name == "n16-59" || name == "n16-80") {
    const bool is_two = name == "n16-59";
    settings.levels = is_two ? 9 : 6;
    settings.scale_bits = is_two ? 59 : 80;
    settings.last_bits = 50;
    settings.ratio_bits = 12.5;
    settings.slots_to_coefficients =
        is_two ? std::vector<double>{41, 40, 40} : std::vector<double>{48, 47, 47};
    settings.coefficients_to_slots = {52, 52, 52};
    settings.eval_mod_error = -39;
    settings.constant_bits = 42;
    settings.digits = 3;
    return settings;
  }
  if (name == "n15-31") {
    settings.degree = std::size_t{1} << 15;
    settings.levels = 4;
    settings.scale_bits = 31.2;
    settings.last_bits = 42;
    settings.ratio_bits = 10;
    settings.slots_to_coefficients = {32, 32};
    settings.coefficients_to_slots = {46, 46};
    settings.eval_mod_error = -32;
    settings.constant_bits = 35;
    settings.special_primes = 4;
    return settings;
  }
  if (const auto few = few_slots_preset(name)) return *few;
  if (name == "n16-exact" || name == "test-exact") {
    settings.levels = 16;
    settings.last_bits = 48;
    settings.ratio_bits = 8;
    settings.coefficients_to_slots = {42, 42, 42};
    settings.eval_mod_error = -29;
    settings.constant_bits = 34;
    settings.exponential = true;
  }
  if (name == "n16-exact") return settings;
  if (name == "test-40" || name == "test-exact") {
    settings.degree = std::size_t{1} << 11;
    settings.security = std::nullopt;
    return settings;
  }
  throw ParameterError(
      "there is no preset \"" + name +
      "\" for bootstrapping; there are n16-40, n16-40-light, n16-40-sparse128, n16-40-precise, n16-45, "
      "n16-59, n16-80, n15-31, "
      "for few real slots n16-40-few, n15-40, n15-36, n15-34 and n15-30, n16-exact, n16-exact-few, and "
      "test-40, test-few, test-exact and test-exact-few, which are not secure");
}

}  // namespace hemera::circuits
