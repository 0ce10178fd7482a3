// EvalMod: from I + m / q_0 to m / q_0, by a sine.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod_series.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// Integers |I| that the series covers are below this: an ephemeral secret of weight 32 leaves the rest with
/// a probability of 2^-132 a bootstrap at N = 2^16.
inline constexpr std::size_t eval_mod_range = 16;

/// Of real slots: sin(2 pi t) ratio / (2 pi) times the slope (or its arcsine), for v = t / eval_mod_range.
///
/// A Chebyshev series of degree 15 in y = 2 v^2 - 1, with v moved by a quarter, is split by T_8 and T_4
/// (M. Paterson, L. Stockmeyer, 1973); three doublings of the angle follow. Every step has a scale of its own
/// (eval_mod_scales.hpp), so that none adds more error than the others, and one division: products are
/// relinearized and rescaled together, T_3 beside T_4 and T_8 beside the halves of the series.
class EvalMod {
 public:
  EvalMod(const rlwe::Parameters& parameters, const BootstrapLayout& layout);

  /// Ciphertexts at the layout's level, with its scale; the result has the scale of the level where it ends.
  /// Given X^(N/2) (that is, i) at join_level(), v is a stack of real and imaginary parts, and the result one
  /// ciphertext of both: the parts of the last product are joined before its division, which so rounds once.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator, rlwe::Ciphertext v,
                                            const rlwe::Plaintext* i = nullptr) const;

  [[nodiscard]] std::size_t end_level() const { return end_level_; }
  [[nodiscard]] std::size_t join_level() const { return end_level_ + 1; }
  [[nodiscard]] const EvalModSeries& series() const { return series_; }
  /// The levels at which they need a key.
  [[nodiscard]] const std::vector<std::size_t>& product_levels() const { return product_levels_; }
  /// Operations for a batch of so many ciphertexts, and what is alive at once in bytes.
  [[nodiscard]] Cost cost(const rlwe::Parameters& parameters, std::size_t batch) const;

 private:
  EvalModSeries series_;
  double constant_;
  double slope_;  // from sines (or angles) to slots: their scale is divided by it
  std::optional<Arcsine> arcsine_;
  std::size_t end_level_;
  double end_scale_;
  std::vector<std::size_t> product_levels_;
};

}  // namespace hemera::circuits
