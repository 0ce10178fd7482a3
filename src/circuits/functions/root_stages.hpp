// The square root as a composition of polynomials, by those of a sign.
#pragma once

#include "circuits/functions/absolute_stages.hpp"

namespace hemera::circuits {

/// The square root of values from 0 to `high` by the stages of a sign. Its odd polynomials of t are p(t) = t
/// q(t^2). So with u = t^2 the stages t <- p(t) are u <- u q(u)^2, each a polynomial of u, and t sign(t) is u
/// q_1(u) q_2(u') ..., which takes the levels of the sign.
struct RootComposition {
  std::vector<SignStage> stages;
  double high;   ///< Wider than the values: polynomials are steep at the ends of their intervals.
  double error;  ///< The largest one.

  [[nodiscard]] std::size_t depth() const;
  Function::Value add_to(Function& function, Function::Value x) const;
};

/// The composition of least depth within a tolerance on an interval from 0 or more on; none where that takes
/// more levels than are tried.
std::optional<RootComposition> nearest_to_root(const Interval& interval, double tolerance);

}  // namespace hemera::circuits
