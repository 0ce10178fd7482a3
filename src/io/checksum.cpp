#include "io/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hemera::io {

std::uint64_t checksum(std::uint64_t seed, std::span<const std::byte> first,
                       std::span<const std::byte> second) {
  if (second.empty()) {
    return XXH3_64bits_withSeed(first.data(), first.size(), seed);
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace hemera::io
