// ChaCha20 over vectors of 32-bit words, one block in each lane.
//
// `V` is a type of the including file's unnamed namespace, so that nothing here can be shared with a file
// compiled for another instruction set. It has Type, lanes, what chacha20_rounds takes, and
//   broadcast(word);
//   numbers()                   0, 1, ... in the lanes;
//   store_transposed(out, x)    x[w] with word w of all blocks: the blocks one after the other.
#pragma once

#include <cstring>

#include "hemera/runtime/memory.hpp"
#include "poly/cpu/chacha20.hpp"

namespace hemera::poly::cpu {

template <typename V>
struct VectorChaCha20 {
  static void some_blocks(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3]) {
    using Type = typename V::Type;
    Type x[16];
    for (int w = 0; w < 4; ++w) x[w] = V::broadcast(chacha20_constants[w]);
    for (int w = 0; w < 8; ++w) x[4 + w] = V::broadcast(key[w]);
    const Type counters = V::add(V::broadcast(counter), V::numbers());
    x[12] = counters;
    for (int w = 0; w < 3; ++w) x[13 + w] = V::broadcast(nonce[w]);
    chacha20_rounds<V>(x);
    for (int w = 0; w < 4; ++w) x[w] = V::add(x[w], V::broadcast(chacha20_constants[w]));
    for (int w = 0; w < 8; ++w) x[4 + w] = V::add(x[4 + w], V::broadcast(key[w]));
    x[12] = V::add(x[12], counters);
    for (int w = 0; w < 3; ++w) x[13 + w] = V::add(x[13 + w], V::broadcast(nonce[w]));
    V::store_transposed(out, x);
  }

  /// SamplingKernels::chacha20_blocks.
  static void blocks(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                     const std::uint32_t nonce[3], std::size_t blocks) {
    for (; blocks >= V::lanes; blocks -= V::lanes) {
      some_blocks(out, key, counter, nonce);
      out += V::lanes * chacha20_block_bytes;
      counter += static_cast<std::uint32_t>(V::lanes);
    }
    if (blocks != 0) {
      alignas(64) std::uint8_t last[V::lanes * chacha20_block_bytes];
      some_blocks(last, key, counter, nonce);
      std::memcpy(out, last, blocks * chacha20_block_bytes);
      runtime::secure_zero(last, sizeof last);
    }
  }
};

}  // namespace hemera::poly::cpu
