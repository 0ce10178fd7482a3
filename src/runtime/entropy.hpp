// The operating system's generator of random bytes.
#pragma once

#include <cstdint>
#include <span>

namespace hemera::runtime {

/// Fills up to 256 bytes; returns 0, or the errno value of the failure.
int system_entropy(std::span<std::uint8_t> out);

}  // namespace hemera::runtime
