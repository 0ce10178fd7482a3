// XXH3-64 of xxHash, the checksum of headers and sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::io {

/// XXH3-64 with a seed, of two byte strings one after the other.
std::uint64_t checksum(std::uint64_t seed, std::span<const std::byte> first,
                       std::span<const std::byte> second = {});

}  // namespace hemera::io
