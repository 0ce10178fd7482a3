// A bootstrap by the settings of a client: OpenFHE's order, rotations, levels and scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "circuits/bootstrap/bootstrap_engine.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// How giant steps of matrices are taken: with a key each, or one after the other by one key (Horner's rule),
/// where diagonals are counted from 0 and the rotations that this leaves out are made up for at the end.
/// OpenFHE makes the keys of the first way up to 1.5, of the second one since 1.6 (openfhe-development 1209).
enum class GiantSteps : std::uint8_t { own_keys, one_key };

struct BootstrapLayout {
  std::size_t slots;
  circuits::BootstrapStages stages;
  /// The level that the stages begin at: 0, or that of SlotToCoeff.
  std::size_t input_level = 0;
  double input_scale = 1;
  /// Whether the stages' result has real and imaginary parts side by side, whose sum is the result.
  bool is_side_by_side = false;
  std::vector<std::size_t> last_turns;  ///< rotations of the slots that the matrices of each side left out
  std::size_t result_level = 0;
  int result_degree = 2;
  double result_scale = 1;
};

/// Throws ParameterError if the context lacks levels that the settings need, or settings are out of range.
BootstrapLayout layout_of(const rlwe::Context& context, const CryptoContext& client,
                          const BootstrapSettings& settings, std::uint32_t correction_factor,
                          GiantSteps giant_steps);

}  // namespace hemera::interop::openfhe
