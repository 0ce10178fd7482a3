// Where the steps of a bootstrap lie in a modulus chain.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// The steps of EvalMod that use up modulus, in their order: y = T_1 and T_2, T_4, T_8 of it, the series,
/// three doublings.
inline constexpr std::size_t eval_mod_steps = 8;
/// With the arcsine of degree 3: its square and its product.
inline constexpr std::size_t arcsine_steps = 2;

/// q_0, the modulus of level 0.
double last_modulus(const rlwe::Parameters& parameters);

/// arcsin(s) = s (constant + square s^2), nearly the best on the sines of angles up to 2 pi / ratio.
struct Arcsine {
  double constant, square;
};
Arcsine fit_arcsine(double ratio);

/// What m / q_0 = ratio^-1 slot is multiplied by where the sine takes the place of its angle: the slope that
/// leaves a quarter of the cubic's error for slots of magnitude up to 1.
double sine_slope(double ratio);

/// Read from the purposes and scales of parameters.
struct BootstrapLayout {
  BootstrapOrder order = BootstrapOrder::slots_first;
  bool arcsine = false;
  std::size_t input_level = 0;                  ///< of what is bootstrapped: the user's lowest
  std::size_t result_level = 0;                 ///< the user's highest
  std::size_t top_level = 0;                    ///< where CoeffToSlot begins
  std::size_t slots_to_coefficients_level = 0;  ///< where SlotToCoeff begins, and its matrices
  std::size_t slots_to_coefficients = 0;
  std::size_t coefficients_to_slots = 0;
  std::size_t eval_mod_level = 0;  ///< where EvalMod begins
  double ratio = 0;                ///< q_0 over the scale of what is raised
  double constant = 0;             ///< 2^constant_bits

  /// ParameterError for parameters that are not made for bootstrapping.
  explicit BootstrapLayout(const rlwe::Parameters& parameters);
};

}  // namespace hemera::circuits
