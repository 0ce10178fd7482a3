// ChaCha20 for WebAssembly.
#include <wasm_simd128.h>

#include "poly/cpu/vector/chacha20.hpp"

namespace hemera::poly::cpu {
namespace {

struct Lanes {
  using Type = v128_t;
  static constexpr std::size_t lanes = 4;

  static Type broadcast(std::uint32_t word) { return wasm_i32x4_splat(static_cast<std::int32_t>(word)); }
  static Type numbers() { return wasm_i32x4_const(0, 1, 2, 3); }
  static Type add(Type a, Type b) { return wasm_i32x4_add(a, b); }
  static Type exclusive_or(Type a, Type b) { return wasm_v128_xor(a, b); }
  template <int bits>
  static Type rotate_left(Type a) {
    if constexpr (bits == 16) {
      return wasm_i8x16_shuffle(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    } else if constexpr (bits == 8) {
      return wasm_i8x16_shuffle(a, a, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
    } else {
      return wasm_v128_or(wasm_i32x4_shl(a, bits), wasm_u32x4_shr(a, 32 - bits));
    }
  }

  // Words 4 g to 4 g + 3 of four blocks, x[w] with word 4 g + w of all of them, to their places in the
  // blocks.
  static void store_words(std::uint8_t* out, const Type* x) {
    const Type low01 = wasm_i32x4_shuffle(x[0], x[1], 0, 4, 1, 5);  // of blocks 0 and 1
    const Type high01 = wasm_i32x4_shuffle(x[0], x[1], 2, 6, 3, 7);
    const Type low23 = wasm_i32x4_shuffle(x[2], x[3], 0, 4, 1, 5);
    const Type high23 = wasm_i32x4_shuffle(x[2], x[3], 2, 6, 3, 7);
    wasm_v128_store(out, wasm_i64x2_shuffle(low01, low23, 0, 2));
    wasm_v128_store(out + chacha20_block_bytes, wasm_i64x2_shuffle(low01, low23, 1, 3));
    wasm_v128_store(out + 2 * chacha20_block_bytes, wasm_i64x2_shuffle(high01, high23, 0, 2));
    wasm_v128_store(out + 3 * chacha20_block_bytes, wasm_i64x2_shuffle(high01, high23, 1, 3));
  }

  static void store_transposed(std::uint8_t* out, const Type (&x)[16]) {
    for (int g = 0; g < 4; ++g) store_words(out + 16 * g, x + 4 * g);
  }
};

}  // namespace

void chacha20_blocks_simd128(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                             const std::uint32_t nonce[3], std::size_t blocks) {
  VectorChaCha20<Lanes>::blocks(out, key, counter, nonce, blocks);
}

}  // namespace hemera::poly::cpu
