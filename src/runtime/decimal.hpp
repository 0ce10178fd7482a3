// Real numbers in messages.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace hemera {

/// Integers below 10^9 in full, other numbers with six significant digits: 3000000, 0.25, 1e+30.
inline std::string decimal(double value) {
  const bool is_short_integer = std::abs(value) < 1e9 && value == std::trunc(value);
  char text[32];
  std::snprintf(text, sizeof(text), is_short_integer ? "%.0f" : "%.6g", value);
  return text;
}

/// "2^40", "2^0.25".
inline std::string power_of_two(double exponent) { return "2^" + decimal(exponent); }

}  // namespace hemera
