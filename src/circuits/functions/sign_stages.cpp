#include "circuits/functions/sign_stages.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "circuits/functions/chebyshev_coefficients.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

// Of the polynomials that a sign is composed of, and how much depth it may take.
constexpr std::array<std::size_t, 4> stage_degrees{3, 7, 15, 31};
constexpr std::size_t most_sign_depth = 100;

// x r(x^2) is near 1 where r(y) is near 1 / sqrt(y), errors weighted by sqrt(y).
SignStage nearest_to_sign(double from, std::size_t degree) {
  const Approximation inner = approximate([](double y) { return 1 / std::sqrt(y); }, {from * from, 1},
                                          degree / 2, {.weight = [](double y) { return std::sqrt(y); }});
  const auto odd = [&](double x) { return x * inner.polynomial.evaluate(0, x * x).real(); };
  SignStage stage{chebyshev_coefficients(odd, degree), inner.error};
  for (std::size_t k = 0; k <= degree; k += 2) stage.coefficients[k] = 0;
  return stage;
}

}  // namespace

std::vector<SignStage> stages_for(double from, double tolerance) {
  struct State {
    double from = 0;
    std::vector<SignStage> stages;
  };
  std::vector<std::optional<State>> best(most_sign_depth + 1);
  best[0] = State{from, {}};
  for (std::size_t depth = 1; depth <= most_sign_depth; ++depth) {
    for (const std::size_t degree : stage_degrees) {
      const auto own = static_cast<std::size_t>(std::bit_width(degree));
      if (own > depth || !best[depth - own]) continue;
      const State& before = *best[depth - own];
      SignStage stage = nearest_to_sign(before.from, degree);
      if (best[depth] && best[depth]->from >= stage.next()) continue;
      best[depth] = State{stage.next(), before.stages};
      best[depth]->stages.push_back(std::move(stage));
    }
    if (best[depth] && best[depth]->stages.back().error <= tolerance) return best[depth]->stages;
  }
  throw ParameterError("no sign of a depth up to " + std::to_string(most_sign_depth) + " is within 2^" +
                       std::to_string(std::log2(tolerance)) + "; allow a larger error, or a larger gap");
}

Function::Value add_sign(Function& function, Function::Value x, const std::vector<SignStage>& stages,
                         const Interval& interval, double factor, double shift) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool is_last = i + 1 == stages.size();
    // What comes next is defined up to 1.
    const double own = is_last ? factor : 1 / (1 + stages[i].error);
    std::vector<Complex> coefficients = stages[i].coefficients;
    for (Complex& c : coefficients) c *= own;
    if (is_last) coefficients[0] += shift;
    x = function.add(x,
                     Polynomial(std::move(coefficients), Basis::chebyshev, i == 0 ? interval : Interval{}));
  }
  return x;
}

double sign_at(const std::vector<SignStage>& stages, double t) {
  for (const SignStage& stage : stages) {
    t = Polynomial(stage.coefficients, Basis::chebyshev).evaluate(0, t).real();
    if (&stage != &stages.back()) t /= 1 + stage.error;
  }
  return t;
}

}  // namespace hemera::circuits
