#include "poly/cpu/neon/chacha20_neon.hpp"

#include <arm_neon.h>

#include <cstring>

#include "hemera/runtime/memory.hpp"
#include "poly/cpu/chacha20.hpp"

namespace hemera::poly::cpu {
namespace {

constexpr std::size_t lanes = 4;

struct Lanes {
  // Bytes of a rotation by 8 bits.
  uint8x16_t by_eight = {3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14};

  static uint32x4_t add(uint32x4_t a, uint32x4_t b) { return vaddq_u32(a, b); }
  static uint32x4_t exclusive_or(uint32x4_t a, uint32x4_t b) { return veorq_u32(a, b); }
  template <int bits>
  [[nodiscard]] uint32x4_t rotate_left(uint32x4_t a) const {
    if constexpr (bits == 16) {
      return vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(a)));
    } else if constexpr (bits == 8) {
      return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a), by_eight));
    } else {
      return vsriq_n_u32(vshlq_n_u32(a, bits), a, 32 - bits);
    }
  }
};

// Words 4 g to 4 g + 3 of four blocks, x[w] with word 4 g + w of all of them, to their places in the blocks.
void store_transposed(std::uint8_t* out, const uint32x4_t* x) {
  const uint32x4_t low01 = vzip1q_u32(x[0], x[1]);  // of blocks 0 and 1
  const uint32x4_t high01 = vzip2q_u32(x[0], x[1]);
  const uint32x4_t low23 = vzip1q_u32(x[2], x[3]);
  const uint32x4_t high23 = vzip2q_u32(x[2], x[3]);
  const auto pair = [](std::uint8_t* to, uint32x4_t first, uint32x4_t second) {
    const uint64x2_t a = vreinterpretq_u64_u32(first);
    const uint64x2_t b = vreinterpretq_u64_u32(second);
    vst1q_u8(to, vreinterpretq_u8_u64(vzip1q_u64(a, b)));
    vst1q_u8(to + chacha20_block_bytes, vreinterpretq_u8_u64(vzip2q_u64(a, b)));
  };
  pair(out, low01, low23);
  pair(out + 2 * chacha20_block_bytes, high01, high23);
}

void four_blocks(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                 const std::uint32_t nonce[3]) {
  const uint32x4_t steps = {0, 1, 2, 3};
  const uint32x4_t counters = vaddq_u32(vdupq_n_u32(counter), steps);
  uint32x4_t x[16];
  for (int w = 0; w < 4; ++w) x[w] = vdupq_n_u32(chacha20_constants[w]);
  for (int w = 0; w < 8; ++w) x[4 + w] = vdupq_n_u32(key[w]);
  x[12] = counters;
  for (int w = 0; w < 3; ++w) x[13 + w] = vdupq_n_u32(nonce[w]);
  chacha20_rounds<Lanes>(x);
  for (int w = 0; w < 4; ++w) x[w] = vaddq_u32(x[w], vdupq_n_u32(chacha20_constants[w]));
  for (int w = 0; w < 8; ++w) x[4 + w] = vaddq_u32(x[4 + w], vdupq_n_u32(key[w]));
  x[12] = vaddq_u32(x[12], counters);
  for (int w = 0; w < 3; ++w) x[13 + w] = vaddq_u32(x[13 + w], vdupq_n_u32(nonce[w]));
  for (int g = 0; g < 4; ++g) store_transposed(out + 16 * g, x + 4 * g);
}

}  // namespace

void chacha20_blocks_neon(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks) {
  for (; blocks >= lanes; blocks -= lanes) {
    four_blocks(out, key, counter, nonce);
    out += lanes * chacha20_block_bytes;
    counter += static_cast<std::uint32_t>(lanes);
  }
  if (blocks != 0) {
    alignas(64) std::uint8_t last[lanes * chacha20_block_bytes];
    four_blocks(last, key, counter, nonce);
    std::memcpy(out, last, blocks * chacha20_block_bytes);
    runtime::secure_zero(last, sizeof last);
  }
}

}  // namespace hemera::poly::cpu
