// The ChaCha20 block function of RFC 8439, section 2.3: the scalar version; avx2/, avx512/, neon/ and
// simd128/ have vector versions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "poly/chacha20_rounds.hpp"

namespace hemera::poly::cpu {

inline constexpr std::size_t chacha20_block_bytes = 64;

/// Blocks counter, counter + 1, ... (modulo 2^32), 64 bytes each.
void chacha20_blocks_scalar(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                            const std::uint32_t nonce[3], std::size_t blocks);
/// The same for each instruction set.
void chacha20_blocks_avx2(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks);
void chacha20_blocks_avx512(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                            const std::uint32_t nonce[3], std::size_t blocks);
void chacha20_blocks_neon(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks);
void chacha20_blocks_simd128(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                             const std::uint32_t nonce[3], std::size_t blocks);

}  // namespace hemera::poly::cpu
