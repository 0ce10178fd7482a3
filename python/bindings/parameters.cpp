// Parameters: the literal as keyword arguments, the helpers of each scheme, and properties.
#include "hemera/rlwe/parameters.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/parameters.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Parameters;

using Primes = std::vector<std::uint64_t>;

Parameters from_literal(rlwe::Scheme scheme, std::size_t degree, std::vector<Primes> levels,
                        Primes special_primes, std::vector<Primes> digits, int window_bits,
                        std::map<std::uint64_t, std::uint64_t> roots, std::uint64_t plain_modulus,
                        double scale, int range_bits, std::uint64_t galois_generator,
                        std::size_t secret_weight, double sigma, rlwe::BfvMultiplication bfv_multiplication,
                        std::optional<int> security) {
  rlwe::ParametersLiteral literal;
  literal.scheme = scheme;
  literal.degree = degree;
  literal.levels = std::move(levels);
  literal.special_primes = std::move(special_primes);
  literal.digits = std::move(digits);
  literal.window_bits = window_bits;
  literal.roots = std::move(roots);
  literal.plain_modulus = plain_modulus;
  literal.scale = scale;
  literal.range_bits = range_bits;
  literal.galois_generator = galois_generator;
  literal.secret.weight = secret_weight;
  literal.sigma = sigma;
  literal.bfv_multiplication = bfv_multiplication;
  literal.security = security;
  return Parameters(std::move(literal));
}

Parameters with_policies(const Parameters& parameters, std::optional<rlwe::BfvMultiplication> multiplication,
                         std::optional<bool> manual_rescaling) {
  rlwe::ParametersLiteral literal = parameters.literal();
  if (multiplication) literal.bfv_multiplication = *multiplication;
  if (manual_rescaling) {
    auto policy = *manual_rescaling ? rlwe::RescalingPolicy::manual(literal.scheme)
                                    : rlwe::RescalingPolicy::automatic(literal.scheme);
    if (literal.rescaling && literal.scheme != rlwe::Scheme::ckks) {
      policy.scales = literal.rescaling->scales;  // of a circuit
    }
    literal.rescaling = std::move(policy);
  }
  return Parameters(std::move(literal));
}

/// "automatic", "manual", or "custom" for policies of other libraries.
std::string rescaling_name(const Parameters& parameters) {
  auto policy = parameters.literal().rescaling;
  if (!policy) return "automatic";
  const rlwe::Scheme scheme = parameters.scheme();
  if (scheme != rlwe::Scheme::ckks) policy->scales.clear();  // of a circuit
  if (*policy == rlwe::RescalingPolicy::automatic(scheme)) return "automatic";
  return *policy == rlwe::RescalingPolicy::manual(scheme) ? "manual" : "custom";
}

Parameters ckks_for_circuit(std::size_t depth, int scale_bits, std::size_t slots,
                            std::optional<int> range_bits, double largest, int sharing_bits,
                            std::size_t shares, std::size_t digits, std::size_t degree,
                            std::optional<int> security, std::size_t pieces) {
  return ckks::parameters_for({.depth = depth,
                               .scale_bits = scale_bits,
                               .slots = slots,
                               .range_bits = range_bits,
                               .largest = largest,
                               .sharing_bits = sharing_bits,
                               .shares = shares,
                               .pieces = pieces,
                               .digits = digits,
                               .degree = degree,
                               .security = security});
}

Parameters ckks_from_bits(std::size_t degree, std::vector<int> prime_bits, std::vector<int> special_bits,
                          double scale, std::size_t last_base, std::size_t digits,
                          std::optional<int> security, int range_bits, bool equal_scales) {
  return ckks::parameters_from_bits({.degree = degree,
                                     .prime_bits = std::move(prime_bits),
                                     .special_bits = std::move(special_bits),
                                     .scale = scale,
                                     .last_base = last_base,
                                     .digits = digits,
                                     .security = security,
                                     .range_bits = range_bits,
                                     .equal_scales = equal_scales});
}

/// The smallest prime t = 1 modulo 2N from `least` on, with which BFV and BGV have N slots; 0 if there is
/// none below 2^60.
std::uint64_t least_plain_modulus(std::uint64_t least, std::size_t degree) {
  const std::uint64_t step = 2 * degree;
  const auto found =
      arith::primes_nearest(static_cast<double>(least), step, 1, least, std::uint64_t{1} << 60U);
  return found.empty() ? 0 : found.front();
}

template <Parameters (*make)(const integer::CircuitRequest&)>
Parameters integers_for_circuit(std::size_t depth, int plain_bits, std::uint64_t plain_modulus,
                                std::size_t slots, std::size_t terms, std::size_t digits, std::size_t degree,
                                std::optional<int> security, std::optional<rlwe::Openings> openings) {
  return make({.depth = depth,
               .plain_bits = plain_bits,
               .plain_modulus = plain_modulus,
               .slots = slots,
               .terms = terms,
               .digits = digits,
               .degree = degree,
               .security = security,
               .openings = openings});
}

template <Parameters (*make)(const integer::ChainRequest&)>
Parameters integers_from_bits(std::size_t degree, std::uint64_t plain_modulus, std::vector<int> prime_bits,
                              std::vector<int> special_bits, std::size_t digits,
                              std::optional<int> security) {
  return make({.degree = degree,
               .plain_modulus = plain_modulus,
               .prime_bits = std::move(prime_bits),
               .special_bits = std::move(special_bits),
               .digits = digits,
               .security = security});
}

void bind_enums(nb::module_& m) {
  nb::enum_<rlwe::Scheme>(m, "Scheme")
      .value("bfv", rlwe::Scheme::bfv)
      .value("bgv", rlwe::Scheme::bgv)
      .value("ckks", rlwe::Scheme::ckks);
  nb::enum_<rlwe::BfvMultiplication>(m, "BfvMultiplication")
      .value("none", rlwe::BfvMultiplication::none)
      .value("behz", rlwe::BfvMultiplication::behz)
      .value("hps", rlwe::BfvMultiplication::hps)
      .value("hps_over_q", rlwe::BfvMultiplication::hps_over_q);
}

template <Parameters (*for_circuit)(const integer::CircuitRequest&),
          Parameters (*from_bits)(const integer::ChainRequest&)>
void bind_integer_helpers(nb::module_& m, const std::string& scheme) {
  m.def((scheme + "_for_circuit").c_str(), &integers_for_circuit<for_circuit>, "depth"_a, "plain_bits"_a,
        "plain_modulus"_a, "slots"_a, "terms"_a, "digits"_a, "degree"_a, "security"_a.none(),
        "openings"_a.none() = nb::none(), ReleaseGil());
  m.def((scheme + "_from_bits").c_str(), &integers_from_bits<from_bits>, "degree"_a, "plain_modulus"_a,
        "prime_bits"_a, "special_bits"_a, "digits"_a, "security"_a.none(), ReleaseGil());
}

void bind_flooding(nb::module_& m) {
  nb::class_<rlwe::Openings>(m, "Openings")
      .def(
          "__init__",
          [](rlwe::Openings* self, std::size_t pieces, std::size_t count, int bits, int failure_bits) {
            new (self)
                rlwe::Openings{.pieces = pieces, .count = count, .bits = bits, .failure_bits = failure_bits};
          },
          "pieces"_a, "count"_a, "bits"_a, "failure_bits"_a = 40)
      .def_ro("pieces", &rlwe::Openings::pieces)
      .def_ro("count", &rlwe::Openings::count)
      .def_ro("bits", &rlwe::Openings::bits)
      .def_ro("failure_bits", &rlwe::Openings::failure_bits)
      .def("flooding_log2", &rlwe::flooding_log2, "degree"_a, "noise_log2"_a)
      .def("budget", &rlwe::opening_budget, "degree"_a)
      .def("opened_noise_log2", &rlwe::opened_noise_log2, "degree"_a, "noise_log2"_a, "flooding_log2"_a)
      .def("require", &rlwe::require_flooding, "degree"_a, "noise_log2"_a, "flooding_log2"_a, "room_log2"_a);
}

}  // namespace

void bind_parameters(nb::module_& m) {
  bind_enums(m);
  bind_flooding(m);
  nb::class_<Parameters>(m, "Parameters")
      .def_prop_ro("scheme", &Parameters::scheme)
      .def_prop_ro("degree", &Parameters::degree)
      .def_prop_ro("levels", &Parameters::levels)
      .def_prop_ro("primes", [](const Parameters& self) { return self.literal().levels; })
      .def_prop_ro("special_primes", [](const Parameters& self) { return self.literal().special_primes; })
      .def_prop_ro("digits", [](const Parameters& self) { return self.literal().digits; })
      .def_prop_ro("window_bits", [](const Parameters& self) { return self.literal().window_bits; })
      .def_prop_ro("roots", [](const Parameters& self) { return self.literal().roots; })
      .def_prop_ro("max_slots", &Parameters::max_slots)
      .def_prop_ro("highest_user_level", &Parameters::highest_user_level)
      .def_prop_ro("plain_modulus", &Parameters::plain_modulus)
      .def_prop_ro("scale", &Parameters::scale)
      .def_prop_ro("range_bits", [](const Parameters& self) { return self.literal().range_bits; })
      .def_prop_ro("largest", [](const Parameters& self) { return self.literal().largest; })
      .def_prop_ro("checks_range", &ckks::checks_range)
      .def_prop_ro("galois_generator", [](const Parameters& self) { return self.literal().galois_generator; })
      .def_prop_ro("galois_generator", [](const Parameters& self) { return self.literal().galois_generator; })
      .def_prop_ro("secret_weight", [](const Parameters& self) { return self.literal().secret.weight; })
      .def_prop_ro("secret_terms", [](const Parameters& self) { return self.literal().secret.terms; })
      .def_prop_ro("sigma", [](const Parameters& self) { return self.literal().sigma; })
      .def_prop_ro("bfv_multiplication",
                   [](const Parameters& self) { return self.literal().bfv_multiplication; })
      .def_prop_ro("rescaling", &rescaling_name)
      .def_prop_ro("log_union", &Parameters::log_union)
      .def_prop_ro("log_special", &Parameters::log_special)
      .def_prop_ro("security", [](const Parameters& self) { return rlwe::name(self.security()); })
      .def_prop_ro("security_bits", [](const Parameters& self) { return rlwe::bits(self.security()); })
      .def_prop_ro("fingerprint",
                   [](const Parameters& self) {
                     return nb::bytes(self.fingerprint().data(), self.fingerprint().size());
                   })
      .def_prop_ro("ciphertext_bytes", &Parameters::ciphertext_bytes)
      .def_prop_ro("switching_key_bytes", &Parameters::switching_key_bytes)
      .def("galois_element", &Parameters::galois_element, "steps"_a)
      .def("conjugation_element", &Parameters::conjugation_element)
      .def("log_modulus", &Parameters::log_modulus, "level"_a)
      .def("describe", &Parameters::describe)
      .def("with_policies", &with_policies, "bfv_multiplication"_a = nb::none(),
           "manual_rescaling"_a = nb::none());

  m.def("parameters_from_literal", &from_literal, "scheme"_a, "degree"_a, "levels"_a, "special_primes"_a,
        "digits"_a, "window_bits"_a, "roots"_a, "plain_modulus"_a, "scale"_a, "range_bits"_a,
        "galois_generator"_a, "secret_weight"_a, "sigma"_a, "bfv_multiplication"_a, "security"_a.none(),
        ReleaseGil());
  m.def("ckks_for_circuit", &ckks_for_circuit, "depth"_a, "scale_bits"_a, "slots"_a, "range_bits"_a.none(),
        "largest"_a, "sharing_bits"_a, "shares"_a, "digits"_a, "degree"_a, "security"_a.none(),
        "pieces"_a = 1, ReleaseGil());
  m.def("ckks_from_bits", &ckks_from_bits, "degree"_a, "prime_bits"_a, "special_bits"_a, "scale"_a,
        "last_base"_a, "digits"_a, "security"_a.none(), "range_bits"_a, "equal_scales"_a, ReleaseGil());
  bind_integer_helpers<bfv::parameters_for, bfv::parameters_from_bits>(m, "bfv");
  bind_integer_helpers<bgv::parameters_for, bgv::parameters_from_bits>(m, "bgv");

  m.def("least_plain_modulus", &least_plain_modulus, "least"_a, "degree"_a);
  m.def(
      "max_log_modulus",
      [](std::size_t degree, int bits, std::size_t secret_weight) {
        return rlwe::max_log_modulus(degree, bits, {.weight = secret_weight});
      },
      "degree"_a, "bits"_a, "secret_weight"_a,
      "The largest log2 of the whole modulus with `bits` (128, 192, 256) of security at this degree, or "
      "None.");
  m.def("rotations_for_sum", &rlwe::rotations_for_sum, "parameters"_a, "slots"_a);
  m.def(
      "rotations_needed",
      [](const std::vector<std::int64_t>& steps, std::size_t period) {
        return rlwe::rotations_needed(steps, period);
      },
      "steps"_a, "period"_a);
}

}  // namespace hemera::python
