// ChaCha20 for Advanced SIMD.
#include <arm_neon.h>

#include "poly/cpu/vector/chacha20.hpp"

namespace hemera::poly::cpu {
namespace {

struct Lanes {
  // Bytes of a rotation by 8 bits.
  uint8x16_t by_eight = {3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14};

  using Type = uint32x4_t;
  static constexpr std::size_t lanes = 4;

  static uint32x4_t broadcast(std::uint32_t word) { return vdupq_n_u32(word); }
  static uint32x4_t numbers() { return uint32x4_t{0, 1, 2, 3}; }
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

  // Words 4 g to 4 g + 3 of four blocks, x[w] with word 4 g + w of all of them, to their places in the
  // blocks.
  static void store_words(std::uint8_t* out, const uint32x4_t* x) {
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

  static void store_transposed(std::uint8_t* out, const uint32x4_t (&x)[16]) {
    for (int g = 0; g < 4; ++g) store_words(out + 16 * g, x + 4 * g);
  }
};

}  // namespace

void chacha20_blocks_neon(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks) {
  VectorChaCha20<Lanes>::blocks(out, key, counter, nonce, blocks);
}

}  // namespace hemera::poly::cpu
