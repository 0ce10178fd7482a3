// Signs of least depth for |t| = t sign(t), which is small where the sign is wrong.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "circuits/functions/sign_stages.hpp"

namespace hemera::circuits {

/// Bits of precision that the map of an interval may take in place of a level.
inline constexpr double absolute_map_bits = 6;

/// A sign s of values in [-1, 1], and the largest |t - t s(t)| on both sides of its gap.
struct SignComposition {
  std::vector<SignStage> stages;
  double above_gap = 1, below_gap = 1;

  [[nodiscard]] double error() const { return std::max(above_gap, below_gap); }
};

/// The sign of least depth with |t - t s(t)| within a tolerance for from <= t <= 1; none where that takes
/// more levels than are tried. A first polynomial of some degree has the depth that it has on this interval.
std::optional<SignComposition> nearest_to_absolute(const Interval& interval, double tolerance,
                                                   double from = 0);

}  // namespace hemera::circuits
