// Where the steps of a bootstrap lie in a modulus chain.
#pragma once

#include <cstddef>
#include <vector>

#include "circuits/bootstrap/eval_mod_series.hpp"
#include "circuits/bootstrap/sine_steps.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// The least ratio of q_0 and the raised scale. Below it messages may lie anywhere between the integers, and
/// what counts is the sine itself.
inline constexpr double least_near_ratio = 8;

/// q_0, the modulus of level 0.
double last_modulus(const rlwe::Parameters& parameters);

/// The scale of the plaintexts of a matrix at the level.
double matrix_scale(const rlwe::Parameters& parameters, std::size_t level);

/// arcsin(s) = s (constant + square s^2), nearly the best on the sines of angles up to 2 pi / ratio.
struct Arcsine {
  double constant, square;
};
Arcsine fit_arcsine(double ratio);

/// The factor of m / q_0 = ratio^-1 slot where the sine takes the place of its angle: the slope that leaves a
/// quarter of the cubic's error for slots of magnitude up to 1.
double sine_slope(double ratio);

/// The scale of the last product of blocks over that of twice its imaginary part, as slots.
double roots_gain(double ratio, bool is_exponential);

/// Read from the purposes and scales of parameters.
struct BootstrapLayout {
  BootstrapOrder order = BootstrapOrder::slots_first;
  bool arcsine = false;                         ///< not of an exponential (SineShape)
  std::size_t input_level = 0;                  ///< of the input: the user's lowest
  std::size_t result_level = 0;                 ///< the user's highest
  std::size_t top_level = 0;                    ///< where CoeffToSlot begins
  std::size_t slots_to_coefficients_level = 0;  ///< where SlotToCoeff begins, and its matrices
  std::size_t slots_to_coefficients = 0;
  std::size_t coefficients_to_slots = 0;
  std::size_t eval_mod_level = 0;  ///< where EvalMod begins
  SineShape sine;         ///< the largest degree that the levels take; the range is no matter of levels
  int constant_bits = 0;  ///< of the series' coefficients
  /// Blocks of the secret of a bootstrap by roots of unity (roots_of_unity.hpp); 0: by CoeffToSlot and
  /// EvalMod. Its sum of products takes CoeffToSlot's one level, its products of blocks EvalMod's.
  std::size_t blocks = 0;
  double ratio = 0;  ///< q_0 over the raised scale

  /// Where EvalMod's result is.
  [[nodiscard]] std::size_t eval_mod_end() const {
    if (blocks != 0) return result_level;
    return eval_mod_level - sine_step_count(sine) - (arcsine ? arcsine_steps : 0);
  }

  /// Throws ParameterError if the parameters are not made for bootstrapping.
  explicit BootstrapLayout(const rlwe::Parameters& parameters);
};

/// The series of a sine, or an exponential, for the messages q_0 / ratio of a ring of this degree: near the
/// integers, or where the ratio is below `least_near_ratio` between them too, with one bound for all of them.
/// Throws ParameterError if the shape is out of range, if an integer beyond it is met in more than one of
/// 2^30 bootstraps, if the series leaves no bit of the message, and for nested products, which are near the
/// integers alone, of a ratio below that.
EvalModSeries checked_series(const SineShape& sine, double ratio, std::size_t ring_degree);

}  // namespace hemera::circuits
