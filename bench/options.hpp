// The command lines of the benchmark programs.
#pragma once

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace hemera::bench {

/// The parts of "A,B".
inline std::vector<std::string> split(const std::string& text, char separator = ',') {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// std::invalid_argument, with the option's name, unless it is a number that is `least` or more.
template <typename Number>
Number number(const std::string& option, const std::string& text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least)) {
    std::ostringstream message;
    message << option << " needs a number from " << least << " on, not '" << text << "'";
    throw std::invalid_argument(message.str());
  }
  return value;
}

/// The positive whole numbers of "1,2,4".
inline std::vector<std::size_t> numbers(const std::string& option, const std::string& text) {
  std::vector<std::size_t> values;
  for (const std::string& part : split(text)) values.push_back(number<std::size_t>(option, part, 1));
  return values;
}

/// Calls take(name, value) for every option; value() is what stands behind it. std::invalid_argument where
/// that is missing, or where `take` knows no such option and says false.
template <typename Take>
void read_options(int count, char** arguments, const Take& take) {
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i >= count) throw std::invalid_argument(name + " needs a value");
      return arguments[i];
    };
    if (!take(name, value)) {
      throw std::invalid_argument("there is no option '" + name + "'; --help tells those that there are");
    }
  }
}

/// Whether a list that stands for everything when it is empty has a value.
inline bool chosen(const auto& wanted, const auto& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

/// std::invalid_argument for an operation that is none of those known.
inline void require_known_operations(const std::vector<std::string>& operations,
                                     const std::vector<std::string>& known) {
  for (const std::string& operation : operations) {
    if (std::find(known.begin(), known.end(), operation) == known.end()) {
      throw std::invalid_argument("there is no operation '" + operation + "'; --list names them");
    }
  }
}

}  // namespace hemera::bench
