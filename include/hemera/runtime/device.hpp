// Which processor an object lives on.
#pragma once

#include <string>
#include <string_view>

namespace hemera::runtime {

struct Device {
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;
  int index = 0;

  /// Reads "cpu", "cuda" or "cuda:1". Throws DeviceError for anything else.
  static Device parse(std::string_view name);

  [[nodiscard]] std::string name() const;

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace hemera::runtime
