#include "poly/cpu/chacha20.hpp"

#include <bit>
#include <cstring>

#include "hemera/runtime/memory.hpp"

namespace hemera::poly::cpu {
namespace {

// States and blocks are stored as words.
static_assert(std::endian::native == std::endian::little);

struct Word32 {
  static std::uint32_t add(std::uint32_t a, std::uint32_t b) { return a + b; }
  static std::uint32_t exclusive_or(std::uint32_t a, std::uint32_t b) { return a ^ b; }
  template <int bits>
  static std::uint32_t rotate_left(std::uint32_t a) {
    return std::rotl(a, bits);
  }
};

}  // namespace

void chacha20_blocks_scalar(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                            const std::uint32_t nonce[3], std::size_t blocks) {
  std::uint32_t state[16];
  std::memcpy(state, chacha20_constants, sizeof chacha20_constants);
  std::memcpy(state + 4, key, 8 * sizeof(std::uint32_t));
  std::memcpy(state + 13, nonce, 3 * sizeof(std::uint32_t));
  std::uint32_t x[16];
  for (std::size_t i = 0; i < blocks; ++i) {
    state[12] = counter + static_cast<std::uint32_t>(i);
    for (int w = 0; w < 16; ++w) x[w] = state[w];
    chacha20_rounds<Word32>(x);
    for (int w = 0; w < 16; ++w) x[w] += state[w];
    std::memcpy(out + i * chacha20_block_bytes, x, sizeof x);
  }
  runtime::secure_zero(state, sizeof state);
  runtime::secure_zero(x, sizeof x);
}

}  // namespace hemera::poly::cpu
