// ChaCha20 for Advanced SIMD: 4 blocks at a time, one in each 32-bit lane.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hemera::poly::cpu {

void chacha20_blocks_neon(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks);

}  // namespace hemera::poly::cpu
