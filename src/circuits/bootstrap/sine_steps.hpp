// The steps of EvalMod that use up modulus, and what the scales of levels say of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits {

/// Integers |I| that a series covers are below the range. `degree`: of the series in y = 2 v^2 - 1, an even
/// one of twice the degree in v.
struct SineShape {
  std::size_t range = 16;
  std::size_t degree = 15;
  std::size_t doublings = 3;  ///< of the angle
  /// Whether it is exp(2 pi i t) in the sine's place: a series in v = t / range of degree 2 `degree` + 1,
  /// whose doublings are squarings.
  bool exponential = false;
  /// Whether the series is nested products, one a level (nested_series.hpp).
  bool nested = false;
  /// The weight of the ephemeral secret, by which its integers are spread: of all its terms.
  std::size_t weight = rlwe::usual_ephemeral_weight;
  std::size_t terms = 1;
};

/// Doublings of an exponential: with fewer its levels' scales may be those of a sine with its arcsine.
inline constexpr std::size_t least_exponential_doublings = 3;

/// The steps of the arcsine of degree 3: its square and its product.
inline constexpr std::size_t arcsine_steps = 2;

/// log2 of the number of coefficients that a series of this degree is filled up to with zeros: at least 2.
std::size_t series_log_size(std::size_t degree);
/// y = T_1, then T_2, T_4, ..., T_m and T_2m, sums of parts by T_2m, T_4m, ..., and the doublings: one step
/// for each power of two in the series, one for y and one for each doubling.
std::size_t sine_step_count(const SineShape& shape);
/// The number of the step of T_2m, from 0, with the sums of the series' parts of m = 2^(log_size / 2)
/// coefficients.
std::size_t sine_parts_step(std::size_t log_size);
/// For each step, log2 of how many times larger the scale after it is than half the square of the scale
/// before, over its divisor. T_2m's step drops `constant_bits`, those of the series' coefficients; products
/// by T_2m, T_4m, ... have the factors 1 that are not taken by the scale, and so have squarings. Nested
/// products drop what makes values of their magnitudes 1.
std::vector<double> sine_step_gains(const SineShape& shape, int constant_bits);

/// The shape that levels were made for: the largest degree that takes as many.
struct SineLevels {
  std::size_t degree;
  std::size_t doublings;
  int constant_bits;
  bool arcsine, exponential, nested;
};
/// The sine by the gains (as above) of all steps that levels of EvalMod have, but for the last one, whose
/// result is read at another scale. Empty: they are of no sine.
std::optional<SineLevels> find_sine(std::span<const double> gains);

}  // namespace hemera::circuits
