// Real numbers in messages.
#pragma once

#include <cstdio>
#include <string>

namespace hemera {

/// Eight significant digits, with an exponent for other magnitudes: 0.25, 3000000, 1e+30.
inline std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.8g", value);
  return text;
}

}  // namespace hemera
