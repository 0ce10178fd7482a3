// ChaCha20 for AVX2.
#include <immintrin.h>

#include "poly/cpu/vector/chacha20.hpp"

namespace hemera::poly::cpu {
namespace {

void store(std::uint8_t* out, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), x); }

struct Lanes {
  using Type = __m256i;
  static constexpr std::size_t lanes = 8;

  static __m256i broadcast(std::uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  static __m256i numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
  static __m256i exclusive_or(__m256i a, __m256i b) { return _mm256_xor_si256(a, b); }
  template <int bits>
  static __m256i rotate_left(__m256i a) {
    if constexpr (bits == 16) {
      return _mm256_shuffle_epi8(a, _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2,
                                                     3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    } else if constexpr (bits == 8) {
      return _mm256_shuffle_epi8(a, _mm256_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 3,
                                                     0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14));
    } else {
      return _mm256_or_si256(_mm256_slli_epi32(a, bits), _mm256_srli_epi32(a, 32 - bits));
    }
  }

  static void store_transposed(std::uint8_t* out, const __m256i (&x)[16]) {
    for (int half = 0; half < 2; ++half) {  // words 0 to 7, then 8 to 15
      // group[g][j]: 128-bit lane L holds words 4g ... 4g + 3 (of the half) of block 4L + j.
      __m256i group[2][4];
      for (int g = 0; g < 2; ++g) {
        const __m256i* y = x + 8 * half + 4 * g;
        const __m256i low01 = _mm256_unpacklo_epi32(y[0], y[1]);
        const __m256i high01 = _mm256_unpackhi_epi32(y[0], y[1]);
        const __m256i low23 = _mm256_unpacklo_epi32(y[2], y[3]);
        const __m256i high23 = _mm256_unpackhi_epi32(y[2], y[3]);
        group[g][0] = _mm256_unpacklo_epi64(low01, low23);
        group[g][1] = _mm256_unpackhi_epi64(low01, low23);
        group[g][2] = _mm256_unpacklo_epi64(high01, high23);
        group[g][3] = _mm256_unpackhi_epi64(high01, high23);
      }
      for (int j = 0; j < 4; ++j) {
        std::uint8_t* block = out + static_cast<std::size_t>(j) * chacha20_block_bytes + 32 * half;
        store(block, _mm256_permute2x128_si256(group[0][j], group[1][j], 0x20));
        store(block + 4 * chacha20_block_bytes, _mm256_permute2x128_si256(group[0][j], group[1][j], 0x31));
      }
    }
  }
};

}  // namespace

void chacha20_blocks_avx2(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks) {
  VectorChaCha20<Lanes>::blocks(out, key, counter, nonce, blocks);
}

}  // namespace hemera::poly::cpu
