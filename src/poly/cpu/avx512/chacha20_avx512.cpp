// ChaCha20 for AVX-512.
#include <immintrin.h>

#include "poly/cpu/vector/chacha20.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined operands inside its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace hemera::poly::cpu {
namespace {

struct Lanes {
  using Type = __m512i;
  static constexpr std::size_t lanes = 16;

  static __m512i broadcast(std::uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static __m512i numbers() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static __m512i exclusive_or(__m512i a, __m512i b) { return _mm512_xor_si512(a, b); }
  template <int bits>
  static __m512i rotate_left(__m512i a) {
    return _mm512_rol_epi32(a, bits);
  }
  static void store_transposed(std::uint8_t* out, const __m512i (&x)[16]) {
    // group[g][j]: 128-bit lane L holds words 4g ... 4g + 3 of block 4L + j.
    __m512i group[4][4];
    for (int g = 0; g < 4; ++g) {
      const __m512i low01 = _mm512_unpacklo_epi32(x[4 * g], x[4 * g + 1]);
      const __m512i high01 = _mm512_unpackhi_epi32(x[4 * g], x[4 * g + 1]);
      const __m512i low23 = _mm512_unpacklo_epi32(x[4 * g + 2], x[4 * g + 3]);
      const __m512i high23 = _mm512_unpackhi_epi32(x[4 * g + 2], x[4 * g + 3]);
      group[g][0] = _mm512_unpacklo_epi64(low01, low23);
      group[g][1] = _mm512_unpackhi_epi64(low01, low23);
      group[g][2] = _mm512_unpacklo_epi64(high01, high23);
      group[g][3] = _mm512_unpackhi_epi64(high01, high23);
    }
    for (int j = 0; j < 4; ++j) {
      // 4 x 4 transpose of 128-bit lanes.
      const __m512i low01 = _mm512_shuffle_i32x4(group[0][j], group[1][j], 0x44);
      const __m512i high01 = _mm512_shuffle_i32x4(group[0][j], group[1][j], 0xee);
      const __m512i low23 = _mm512_shuffle_i32x4(group[2][j], group[3][j], 0x44);
      const __m512i high23 = _mm512_shuffle_i32x4(group[2][j], group[3][j], 0xee);
      std::uint8_t* block = out + static_cast<std::size_t>(j) * chacha20_block_bytes;
      _mm512_storeu_si512(block, _mm512_shuffle_i32x4(low01, low23, 0x88));
      _mm512_storeu_si512(block + 4 * chacha20_block_bytes, _mm512_shuffle_i32x4(low01, low23, 0xdd));
      _mm512_storeu_si512(block + 8 * chacha20_block_bytes, _mm512_shuffle_i32x4(high01, high23, 0x88));
      _mm512_storeu_si512(block + 12 * chacha20_block_bytes, _mm512_shuffle_i32x4(high01, high23, 0xdd));
    }
  }
};

}  // namespace

void chacha20_blocks_avx512(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                            const std::uint32_t nonce[3], std::size_t blocks) {
  VectorChaCha20<Lanes>::blocks(out, key, counter, nonce, blocks);
}

}  // namespace hemera::poly::cpu
