// Warnings: results that may be wrong, where nothing is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hemera {

struct Warning {
  enum class Kind : std::uint8_t {
    /// BFV, BGV: the guaranteed noise budget of a result is spent. There is one warning, where it happens;
    /// operations on that result give none (Metadata::spent).
    spent_noise_budget,
    /// CKKS: a bootstrap took values to be from -1 to 1, as no bound of them is declared. At each bootstrap.
    undeclared_range,
  };
  Kind kind;
  std::string text;  ///< what may be wrong, and the way out
};

/// It is called by the thread whose operation warns, and from several threads at once. What it throws ends
/// the operation, whose operands are then as they were or have the result.
using WarningHandler = std::function<void(const Warning&)>;

/// Sets what becomes of warnings of this process, and returns the former handler. The first handler writes
/// the first warning of each kind to the standard error stream: the only text that the library ever prints.
/// An empty one silences them; results are then not marked either (Metadata::spent).
WarningHandler set_warning_handler(WarningHandler handler);

/// Whether there is a handler.
[[nodiscard]] bool has_warning_handler() noexcept;

/// Calls the handler, if there is one.
void warn(Warning::Kind kind, const std::string& text);

}  // namespace hemera
