// ChaCha20 on the device: one block a thread, in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/random.hpp"
#include "poly/chacha20_rounds.hpp"

namespace hemera::poly::cuda {

/// A seed as words, and the purpose of its stream: by value in kernel parameters.
struct StreamKey {
  std::uint32_t key[8];
  std::uint32_t first_polynomial;
  std::uint32_t purpose;
};

/// The key of the polynomials from number `first` of a view on.
StreamKey stream_key(const RandomStream& stream, Purpose purpose, std::size_t first);

struct Word32 {
  static __host__ __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return a + b;
  }
  static __host__ __device__ __forceinline__ std::uint32_t exclusive_or(std::uint32_t a, std::uint32_t b) {
    return a ^ b;
  }
  template <int bits>
  static __host__ __device__ __forceinline__ std::uint32_t rotate_left(std::uint32_t a) {
    return (a << bits) | (a >> (32 - bits));
  }
};

/// The random bits r of the four coefficients that share a block.
struct RandomBlock {
  arith::uint128 r[4];
};

/// Block `counter` of limb `limb` of polynomial `polynomial` of a view.
__device__ __forceinline__ RandomBlock random_block(const StreamKey& stream, std::uint32_t polynomial,
                                                    std::uint32_t limb, std::uint32_t counter) {
  // A copy of its own: device code may not refer to the host's array.
  constexpr std::uint32_t constants[4] = {chacha20_constants[0], chacha20_constants[1], chacha20_constants[2],
                                          chacha20_constants[3]};
  std::uint32_t x[16];
#pragma unroll
  for (int w = 0; w < 4; ++w) x[w] = constants[w];
#pragma unroll
  for (int w = 0; w < 8; ++w) x[4 + w] = stream.key[w];
  x[12] = counter;
  x[13] = stream.first_polynomial + polynomial;
  x[14] = limb;
  x[15] = stream.purpose;
  chacha20_rounds<Word32>(x);
#pragma unroll
  for (int w = 0; w < 4; ++w) x[w] += constants[w];
#pragma unroll
  for (int w = 0; w < 8; ++w) x[4 + w] += stream.key[w];
  x[12] += counter;
  x[13] += stream.first_polynomial + polynomial;
  x[14] += limb;
  x[15] += stream.purpose;
  RandomBlock block;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const auto word = [&](int w) { return static_cast<arith::uint128>(x[4 * k + w]); };
    block.r[k] = word(0) | word(1) << 32 | word(2) << 64 | word(3) << 96;
  }
  return block;
}

}  // namespace hemera::poly::cuda
