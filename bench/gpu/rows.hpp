// Lines of the results, as JSON.
#pragma once

#include <iomanip>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace hemera::gpu_bench {

/// Names and JSON values beside the time.
using Fields = std::vector<std::pair<std::string, std::string>>;

struct TimedRow {
  Fields fields;
  double microseconds = 0, spread = 0;
  bool checked = false;
};

/// A number with so many digits after the point.
inline std::string fixed(double value, int digits = 1) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

inline std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace hemera::gpu_bench
