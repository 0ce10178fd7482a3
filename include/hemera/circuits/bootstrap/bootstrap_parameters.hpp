// Parameters whose levels beyond the user's make room for bootstrapping.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

/// Which way round a bootstrap goes (docs/bootstrapping.md).
enum class BootstrapOrder {
  /// SlotToCoeff, ModRaise, CoeffToSlot, EvalMod: the sine meets the slots, so that every input of magnitude
  /// up to 1 has one precision.
  slots_first,
  /// ModRaise, CoeffToSlot, EvalMod, SlotToCoeff: the sine meets the coefficients, which are large where
  /// slots are alike.
  standard,
  /// ModRaise, CoeffToSlot, EvalMod: what the input has in its coefficients, the result has in its slots. So
  /// there are no matrices of SlotToCoeff, and one level of q_0 alone is enough for what comes before.
  from_coefficients,
};

/// All sizes are bits: log2 of a modulus or of a scale.
struct BootstrapSettings {
  std::size_t degree = std::size_t{1} << 16;
  /// Levels of the user that are left after a bootstrap, and their scale.
  std::size_t levels = 13;
  double scale_bits = 40;
  BootstrapOrder order = BootstrapOrder::slots_first;
  /// Bits of q_0, the modulus that is raised, and of q_0 over the raised scale. In the standard order and
  /// from coefficients their difference is the scale of the user's lowest level. With a ratio below 3 bits a
  /// bootstrap gives the sine itself, for x of any size, a function of period 2^ratio_bits:
  /// sin(2 pi x / 2^ratio_bits) 2^ratio_bits / (2 pi) (1 + (2 pi / 2^ratio_bits)^2 / 8).
  double last_bits = 45;
  double ratio_bits = 12;
  /// Bits that each matrix drops, in the order in which they are applied. From coefficients there are none of
  /// SlotToCoeff.
  std::vector<double> slots_to_coefficients = {34, 34, 34};
  std::vector<double> coefficients_to_slots = {49, 49, 49};
  /// log2 of the deviation that EvalMod's rounding may add to t = I + m / q_0: the scales follow from it.
  double eval_mod_error = -36.8;
  /// Bits after the point of EvalMod's coefficients, from 10 to 60.
  int constant_bits = 40;
  /// EvalMod's sine: a Chebyshev series of a cosine, and doublings of its angle. Integers |I| of I + m / q_0
  /// are covered below the range, from 2 to 64; an ephemeral secret leaves none above 16. The degree, from 1
  /// to 127, is that in y = 2 (t / range)^2 - 1; all up to the next 2^k - 1 take as many levels. Doublings:
  /// up to 10, a level each.
  std::size_t sine_range = 16;
  /// Non-zero coefficients of the ephemeral secret: integers are about the root of a twelfth of them, so that
  /// a range of 44 goes with 128.
  std::size_t ephemeral_weight = rlwe::usual_ephemeral_weight;
  std::size_t sine_degree = 15;
  std::size_t doublings = 3;
  /// Whether the arcsine of degree 3 corrects the sine, and the scale of its steps.
  bool arcsine = false;
  double arcsine_bits = 52;
  /// Whether EvalMod is exp(2 pi i t) instead, of slots first: a series in t / range of degree 2 sine_degree
  /// + 1, squared `doublings` times (3 or more). What a bootstrap gives are then the exponentials of 2 pi i x
  /// / 2^ratio_bits, for slots x of any size.
  bool exponential = false;
  /// Whether the sine's series is nested products, one a level, in place of parts with coefficients: less
  /// time and fewer bits of modulus, for sine_range 16, sine_degree 15 and 3 doublings without an arcsine,
  /// and a ratio of 3 bits or more.
  /// Its error of t is 2^-39.8 in the mean. constant_bits do not count then. Empty: where they fit, slots
  /// first, an eval_mod_error of -39 or more.
  std::optional<bool> nested_sine = std::nullopt;
  /// Roots of unity in the place of CoeffToSlot and EvalMod, for few real slots (docs/bootstrapping.md): the
  /// number of blocks of the ephemeral secret, a power of two from 4 to 1024, with a level for each doubling.
  /// 0: EvalMod. `coefficients_to_slots` then has one level, of the sum of products; `eval_mod_error` is that
  /// which its products add where slots fill a block's places. No other field of the sine counts.
  std::size_t blocks = 0;
  /// The most special primes that a key may have, and the digits of the user's keys.
  std::size_t special_primes = 10;
  std::size_t digits = 2;
  rlwe::SecretDistribution secret;
  std::optional<int> security = 128;
};

/// The settings of a preset: "n16-40", "n16-40-light" (less to upload), "n16-40-sparse128"
/// (of an ephemeral weight of 128), "n16-40-precise", "n16-45", "n16-59",
/// "n16-80", "n15-31", for few real slots "n16-40-few" (up to 256, by roots of unity), "n15-40", "n15-36"
/// (64), "n15-34" and "n15-30" (2,048), of exponentials "n16-exact" and "n16-exact-few" (up to 512 real
/// slots, by roots of unity), and "test-40", "test-few", "test-exact" and "test-exact-few", which are not
/// secure. ParameterError, which lists them, for another name.
BootstrapSettings bootstrap_preset(const std::string& name);

/// Throws ParameterError if `blocks` or the fields that go with it do not fit, SecurityError if there is no
/// estimate of the security that is asked for of such a secret.
void check_blocks(const BootstrapSettings& settings);

/// Parameters with the levels, from the lowest: SlotToCoeff's (slots first), the user's, SlotToCoeff's
/// (standard order), EvalMod's, CoeffToSlot's. The scales of all levels are in their rescaling policy; with
/// purposes and moduli a Bootstrap reads all from them but the range of its sine, which is an option of its
/// own. Throws ParameterError if the settings have no chain, if no gadget is secure, and if the sine is out
/// of range, would meet an integer beyond its range in more than one of 2^30 bootstraps, or is no sine at all
/// there: too small a degree, too few doublings.
rlwe::Parameters parameters_for_bootstrapping(const BootstrapSettings& settings);

}  // namespace hemera::circuits
