#include "circuits/bootstrap/nested_series.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hemera::circuits {
namespace {

constexpr std::size_t nested_range = 16, nested_doublings = 3;

// The polynomial of v, and its doublings.
long double sine_of(long double v) {
  const NestedSeries& n = nested_series;
  const long double y = 2 * v * v + n.shift, a = 2 * y * y - 1;
  const long double b = n.inner * (2 * a * a + n.b_a * a + n.b_y * y + n.b_1);
  const long double c = 2 * (b * b + a * y) + n.c_a * a + n.c_y * y + n.c_1;
  const long double u = n.u_b * b + n.u_a * a + n.u_y * y + n.u_1, w = n.w_a * a + n.w_y * y + n.w_1;
  long double p = n.outer * (2 * (c * c + u * w) + n.p_1);
  for (std::size_t i = 0; i < nested_doublings; ++i) p = 2 * p * p - 1;
  return p;
}

}  // namespace

const NestedSeries nested_series{
    .shift = -1.2826564084466092,
    .inner = 0.0032015580249604905,
    .outer = 0.9420190518818033,
    .b_a = 103.80575264852388,
    .b_y = -616.0542046268837,
    .b_1 = -267.7894614728948,
    .c_a = -2.73670694756305,
    .c_y = -2.9942233870301385,
    .c_1 = -1.9960497679375075,
    .u_b = 10.836963402828328,
    .u_a = -4.732912949491341,
    .u_y = 26.04211002492123,
    .u_1 = 7.460423479276343,
    .w_a = -0.7541379378577828,
    .w_y = -6.410606352998377,
    .w_1 = -7.939081992081906,
    .p_1 = -34.979699630363285,
};

bool fits_nested(const SineShape& shape) {
  return shape.range == nested_range && shape.doublings == nested_doublings && !shape.exponential &&
         series_log_size(shape.degree) == 4;
}

EvalModSeries checked_nested_series() {
  constexpr long double radius = 0x1p-13L, turn = 2 * std::numbers::pi_v<long double>;
  EvalModSeries series;
  series.error_log2.assign(nested_range, -64);
  const auto last = static_cast<long>(nested_range) - 1;
  for (long integer = -last; integer <= last; ++integer) {
    double& error = series.error_log2[static_cast<std::size_t>(std::abs(integer))];
    for (const long double distance : {-radius, 0.0L, radius}) {
      const long double t = static_cast<long double>(integer) + distance;
      const long double off = std::abs(sine_of((t - 0.25L) / nested_range) - std::sin(turn * distance));
      error = std::max(error, static_cast<double>(std::log2(off / turn)));
    }
  }
  return series;
}

Function::Value add_nested_series(Function& function, Function::Value v) {
  using Value = Function::Value;
  const NestedSeries& n = nested_series;
  const auto lowered = [&](Value value) { return function.add({.terms = {{value, {1}}}}); };
  const auto scaled = [&](Value value, double factor) {
    return function.add({.terms = {{value, {factor}}}, .fraction_bits = 0});
  };
  Value y = function.add({.factor = 2, .products = {{v, v}}, .constant = {n.shift}});
  const Value y_beside_a = lowered(y);
  Value a = function.add({.factor = 2, .products = {{y, y}}, .constant = {-1}});
  y = lowered(y_beside_a);
  const Value a_beside_b = lowered(a);
  Value b = function.add({.factor = 2,
                          .products = {{a, a}},
                          .terms = {{a, {n.b_a}}, {y_beside_a, {n.b_y}}},
                          .constant = {n.b_1}});
  a = a_beside_b;
  b = scaled(b, n.inner);
  const Value u = function.add({.terms = {{b, {n.u_b}}, {a, {n.u_a}}, {y, {n.u_y}}}, .constant = {n.u_1}});
  const Value w = function.add({.terms = {{a, {n.w_a}}, {y, {n.w_y}}}, .constant = {n.w_1}});
  const Value c = function.add({.factor = 2,
                                .products = {{b, b}, {a, y}},
                                .terms = {{a, {n.c_a}}, {y, {n.c_y}}},
                                .constant = {n.c_1}});
  const Value p = function.add({.factor = 2, .products = {{c, c}, {u, w}}, .constant = {n.p_1}});
  return scaled(p, n.outer);
}

}  // namespace hemera::circuits
