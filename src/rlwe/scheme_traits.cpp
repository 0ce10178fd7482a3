#include "hemera/rlwe/scheme_traits.hpp"

namespace hemera::rlwe {

const SchemeTraits& traits(Scheme scheme) {
  static constexpr SchemeTraits bfv{.two_rows = true, .conjugation = "swapping rows", .bounds_noise = true};
  static constexpr SchemeTraits bgv{
      .two_rows = true, .conjugation = "swapping rows", .bounds_noise = true, .errors_are_multiples = true};
  static constexpr SchemeTraits ckks{.conjugation = "conjugation"};
  return scheme == Scheme::bfv ? bfv : scheme == Scheme::bgv ? bgv : ckks;
}

std::uint64_t error_factor(const Parameters& parameters) {
  return traits(parameters.scheme()).errors_are_multiples ? parameters.plain_modulus() : 1;
}

std::size_t rotation_period(const Parameters& parameters, std::size_t slots) {
  if (!traits(parameters.scheme()).two_rows) return slots;
  return (parameters.has_slots() ? parameters.max_slots() : parameters.degree()) / 2;
}

}  // namespace hemera::rlwe
