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
  std::uint32_t one;  // 1, which the compiler must not know
};

/// The key of the polynomials from number `first` of a view on.
StreamKey stream_key(const RandomStream& stream, Purpose purpose, std::size_t first);

/// Exclusive ors and rotations fill one pipe, so sums are made by multiply-adds, which have another one.
struct Word32 {
  std::uint32_t one;

  __host__ __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) const {
    return a * one + b;
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

/// The blocks of limb `limb` of polynomial `polynomial` of a view. They differ in the first column alone
/// until that has had its round: the others have it once for all blocks.
class RandomLimb {
 public:
  __device__ __forceinline__ RandomLimb(const StreamKey& stream, std::uint32_t polynomial, std::uint32_t limb)
      : stream_(stream), polynomial_(stream.first_polynomial + polynomial), limb_(limb) {
    input(begun_, 0);
    const Word32 lanes{stream_.one};
#pragma unroll
    for (int c = 1; c < 4; ++c) {
      chacha20_quarter_round(lanes, begun_[c], begun_[4 + c], begun_[8 + c], begun_[12 + c]);
    }
  }

  __device__ __forceinline__ RandomBlock block(std::uint32_t counter) const {
    const Word32 lanes{stream_.one};
    std::uint32_t x[16], added[16];
#pragma unroll
    for (int w = 0; w < 16; ++w) x[w] = begun_[w];
    x[12] = counter;
    chacha20_quarter_round(lanes, x[0], x[4], x[8], x[12]);
    chacha20_diagonals(lanes, x);
    chacha20_rounds<Word32, 18>(x, lanes);
    input(added, counter);
    RandomBlock result;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto word = [&](int w) { return static_cast<arith::uint128>(x[4 * k + w] + added[4 * k + w]); };
      result.r[k] = word(0) | word(1) << 32 | word(2) << 64 | word(3) << 96;
    }
    return result;
  }

 private:
  __device__ __forceinline__ void input(std::uint32_t (&x)[16], std::uint32_t counter) const {
    // A copy of its own: device code may not refer to the host's array.
    constexpr std::uint32_t constants[4] = {chacha20_constants[0], chacha20_constants[1],
                                            chacha20_constants[2], chacha20_constants[3]};
#pragma unroll
    for (int w = 0; w < 4; ++w) x[w] = constants[w];
#pragma unroll
    for (int w = 0; w < 8; ++w) x[4 + w] = stream_.key[w];
    x[12] = counter;
    x[13] = polynomial_;
    x[14] = limb_;
    x[15] = stream_.purpose;
  }

  const StreamKey& stream_;
  std::uint32_t polynomial_, limb_;
  std::uint32_t begun_[16];  // words 0, 4, 8 and 12 are those of the input
};

/// Block `counter` alone.
__device__ __forceinline__ RandomBlock random_block(const StreamKey& stream, std::uint32_t polynomial,
                                                    std::uint32_t limb, std::uint32_t counter) {
  return RandomLimb(stream, polynomial, limb).block(counter);
}

}  // namespace hemera::poly::cuda
