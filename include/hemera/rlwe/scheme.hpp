// The three schemes.
#pragma once

#include <cstdint>
#include <string>

namespace hemera::rlwe {

enum class Scheme : std::uint8_t { bfv = 1, bgv = 2, ckks = 3 };

/// "BFV", "BGV" or "CKKS"; throws ParameterError for other numbers.
std::string name(Scheme scheme);

}  // namespace hemera::rlwe
