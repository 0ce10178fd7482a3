// From one level to a much lower one.
#pragma once

#include <cstddef>
#include <optional>

#include "hemera/poly/plans.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::circuits {

/// One division from level `high` to `low` (or to the same: nothing is divided), for any change of scale: one
/// rounding, where going down level by level has one for each level whose base has primes of its own.
class Descent {
 public:
  Descent(const rlwe::Context& context, std::size_t high, std::size_t low);

  /// x at `high`, in evaluation form, with `factor` times its scale at `low`.
  [[nodiscard]] poly::Poly operator()(const rlwe::Context& context, const poly::Poly& x, double factor) const;

 private:
  std::optional<poly::Division> division_;
  double dropped_ = 1;  // the quotient of the primes that it drops and adds
};

}  // namespace hemera::circuits
