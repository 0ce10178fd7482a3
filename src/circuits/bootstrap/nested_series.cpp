#include "circuits/bootstrap/nested_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <initializer_list>
#include <numbers>
#include <span>
#include <utility>

namespace hemera::circuits {
namespace {

constexpr std::size_t nested_range = 16, nested_doublings = 3;
constexpr long double turn = 2 * std::numbers::pi_v<long double>;

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

// The same of the exponential, of x = i v.
std::complex<long double> exponential_of(std::complex<long double> x) {
  const NestedExponential& n = nested_exponential;
  // Numbers times values, and a number.
  const auto sum = [](std::initializer_list<std::pair<double, std::complex<long double>>> terms,
                      double rest = 0) {
    std::complex<long double> result = rest;
    for (const auto& [factor, value] : terms) result += static_cast<long double>(factor) * value;
    return result;
  };
  const auto a = x * x + sum({{n.a_x, x}}), b = a * a + sum({{n.b_a, a}, {n.b_x, x}});
  const auto c = b * b + sum({{n.c_b, b}, {n.c_a, a}, {n.c_x, x}});
  const auto u = sum({{n.u_b, b}, {n.u_a, a}, {n.u_x, x}}, n.u_1),
             v = sum({{n.v_b, b}, {n.v_a, a}, {n.v_x, x}});
  const auto d = c * c + c * u, e = c * v, s = sum({{n.s_c, c}, {n.s_u, u}, {n.s_x, x}}, n.s_1);
  const auto w = sum({{n.w_c, c}, {n.w_u, u}, {n.w_v, v}, {n.w_x, x}}, n.w_1);
  const auto r = sum({{n.r_c, c}, {n.r_u, u}, {n.r_v, v}, {n.r_x, x}}, n.p_1);
  auto p = static_cast<long double>(n.outer) * (d * d + d * s + e * w + r);
  for (std::size_t i = 0; i < nested_doublings; ++i) p *= p;
  return p;
}

// log2 of the largest error of t near an integer's magnitude, at these distances from it and its opposite.
template <typename Error>
EvalModSeries errors_at(std::span<const long double> distances, const Error& error) {
  EvalModSeries series;
  series.error_log2.assign(nested_range, -64);
  const auto last = static_cast<long>(nested_range) - 1;
  for (long integer = -last; integer <= last; ++integer) {
    double& worst = series.error_log2[static_cast<std::size_t>(std::abs(integer))];
    for (const long double distance : distances) {
      const long double off = error(static_cast<long double>(integer), distance);
      worst = std::max(worst, static_cast<double>(std::log2(off / turn)));
    }
  }
  return series;
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

const NestedExponential nested_exponential{
    .a_x = 0.6691599960528619,
    .b_a = 1.4951105443677657,
    .b_x = 0.23960352454604172,
    .c_b = 0.8146107291462101,
    .c_a = -0.29680989528328644,
    .c_x = 0.2232029667281505,
    .u_b = 8.609264632512033,
    .u_a = 15.013073138150173,
    .u_x = -10.710613709633147,
    .u_1 = -1.0975753839105455,
    .v_b = -2.1562556524771543,
    .v_a = -18.443627996009493,
    .v_x = 28.417922651375974,
    .outer = 0.007933417641692099,
    .s_c = 181.8994679192019,
    .s_u = 48.28209858855156,
    .s_x = -869.2114192481881,
    .s_1 = 495.27058748161346,
    .w_c = 161.22558733517027,
    .w_u = 68.3106571308273,
    .w_v = 24.38942168514177,
    .w_x = -654.3300168114342,
    .w_1 = 104.50917787016955,
    .r_c = 1882.9137727269815,
    .r_u = 11.201920902193784,
    .r_v = 1.760186941496412,
    .r_x = 2.17437988145452,
    .p_1 = 138.34403326562142,
};

bool fits_nested(const SineShape& shape) {
  return shape.range == nested_range && shape.doublings == nested_doublings &&
         series_log_size(shape.degree) == 4;
}

EvalModSeries checked_nested_series(bool exponential) {
  if (!exponential) {
    return errors_at(std::array{-0x1p-13L, 0.0L, 0x1p-13L}, [](long double integer, long double distance) {
      return std::abs(sine_of((integer + distance - 0.25L) / nested_range) - std::sin(turn * distance));
    });
  }
  constexpr std::size_t points = 65;
  std::array<long double, points> distances;
  for (std::size_t i = 0; i < points; ++i) distances[i] = static_cast<long double>(i) / (points - 1) - 0.5L;
  return errors_at(distances, [](long double integer, long double distance) {
    const std::complex<long double> x(0, (integer + distance) / nested_range);
    return std::abs(exponential_of(x) - std::polar(1.0L, turn * distance));
  });
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

Function::Value add_nested_exponential(Function& function, Function::Value x) {
  using Value = Function::Value;
  const NestedExponential& n = nested_exponential;
  const auto lowered = [&](Value value) { return function.add({.terms = {{value, {1}}}}); };
  // Values that stand beside each other, level by level: x and a; x, a and b; x, c, u and v.
  const Value x_beside_a = lowered(x);
  Value a = function.add({.products = {{x, x}}, .terms = {{x, {n.a_x}}}});
  x = lowered(x_beside_a);
  const Value a_beside_b = lowered(a);
  const Value b = function.add({.products = {{a, a}}, .terms = {{a, {n.b_a}}, {x_beside_a, {n.b_x}}}});
  a = a_beside_b;
  const Value x_beside_c = lowered(x);
  const Value u = function.add({.terms = {{b, {n.u_b}}, {a, {n.u_a}}, {x, {n.u_x}}}, .constant = {n.u_1}});
  const Value v = function.add({.terms = {{b, {n.v_b}}, {a, {n.v_a}}, {x, {n.v_x}}}});
  const Value c = function.add({.products = {{b, b}}, .terms = {{b, {n.c_b}}, {a, {n.c_a}}, {x, {n.c_x}}}});
  x = x_beside_c;
  const Value s = function.add({.terms = {{c, {n.s_c}}, {u, {n.s_u}}, {x, {n.s_x}}}, .constant = {n.s_1}});
  const Value w =
      function.add({.terms = {{c, {n.w_c}}, {u, {n.w_u}}, {v, {n.w_v}}, {x, {n.w_x}}}, .constant = {n.w_1}});
  const Value r = function.add({.terms = {{c, {n.r_c}}, {u, {n.r_u}}, {v, {n.r_v}}, {x, {n.r_x}}}});
  const Value d = function.add({.products = {{c, c}, {c, u}}});
  const Value e = function.add({.products = {{c, v}}});
  const Value p =
      function.add({.products = {{d, d}, {d, s}, {e, w}}, .terms = {{r, {1}}}, .constant = {n.p_1}});
  return function.add({.terms = {{p, {n.outer}}}, .fraction_bits = 0});
}

}  // namespace hemera::circuits
