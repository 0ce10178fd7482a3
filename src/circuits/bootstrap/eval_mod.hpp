// EvalMod: from I + m / q_0 to m / q_0, by a sine; or to exp(2 pi i m / q_0).
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod_series.hpp"
#include "hemera/circuits/functions/function_plan.hpp"

namespace hemera::circuits {

/// The sine by its series, a circuit of any range, degree and number of doublings.
struct SineCircuit {
  double range;                               ///< of t = range v
  std::span<const arith::TwoDoubles> series;  ///< EvalModSeries::coefficients
  std::size_t doublings;                      ///< of the angle
  int fraction_bits;                          ///< of the coefficients
  std::optional<Arcsine> arcsine;             ///< of the sine, where it is corrected
  bool exponential = false;                   ///< in its place, of i v
  bool nested = false;                        ///< nested products in the series' place
  bool moved = false;                         ///< whether v comes moved by a quarter of a turn
};

/// sin(2 pi t), or its arcsine, of v = t / range; or exp(2 pi i t) of i v. The function takes doublings +
/// ceil(log2(series)) + 1 levels, and two more with an arcsine.
///
/// A Chebyshev series in y = 2 v^2 - 1, with v moved by a quarter of a turn, is split by T_m, T_2m, ... (M.
/// Paterson, L. Stockmeyer, 1973). Its coefficients are integers over 2^fraction_bits, which take no level of
/// their own: the step of T_2m drops these bits as well. Sums of one level follow each other, so that each
/// level has one division of a batch.
///
/// The exponential is a series of as many levels in i^k T_k(v), with squares z^2 for the doublings: the
/// powers of i make all of its numbers real. It has parts of 2m coefficients, where the sine has m, and m - 1
/// products more.
Function sine_function(const SineCircuit& circuit);

/// EvalMod of real slots: sin(2 pi t) ratio / (2 pi) times the slope (or its arcsine), for v = t / range. Or
/// of imaginary ones, i v: exp(2 pi i t). Every step has a scale of its own, so that none adds more error
/// than the others.
class EvalMod {
 public:
  /// `joins_parts`: v is a stack of real and imaginary parts, and the result one ciphertext of both. Throws
  /// ScaleError if the levels' scales are not those that the steps lead to; ParameterError if the layout's
  /// sine does not fit (checked_series).
  EvalMod(const rlwe::Parameters& parameters, const BootstrapLayout& layout, bool joins_parts);

  /// FunctionPlan::with_shared_keys.
  [[nodiscard]] EvalMod with_shared_keys(std::vector<SharedKey> keys) const {
    EvalMod result = *this;
    result.plan_ = plan_.with_shared_keys(std::move(keys));
    return result;
  }
  /// The plan from the layout's level, with its scale, of v + shift().
  [[nodiscard]] const FunctionPlan& plan() const { return plan_; }
  [[nodiscard]] std::size_t end_level() const { return plan_.result_level(); }
  /// The scale of the results' slots, that of their level: the plan's scale is that of sines.
  [[nodiscard]] double end_scale() const { return end_scale_; }
  [[nodiscard]] const EvalModSeries& series() const { return series_; }
  /// A quarter of a turn of a sine, none of an exponential.
  [[nodiscard]] double shift() const { return shift_; }

 private:
  EvalModSeries series_;
  FunctionPlan plan_;
  double end_scale_, shift_;
};

}  // namespace hemera::circuits
