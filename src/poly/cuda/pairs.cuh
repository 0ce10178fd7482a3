// Two neighbouring words of a limb in one thread, and sums of their products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda {

struct Pair {
  std::uint64_t x, y;
};

__device__ __forceinline__ Pair read(const std::uint64_t* words) {
  const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(words);
  return {pair.x, pair.y};
}
__device__ __forceinline__ void write(std::uint64_t* words, std::uint64_t x, std::uint64_t y) {
  *reinterpret_cast<ulonglong2*>(words) = make_ulonglong2(x, y);
}

/// What 128 bits hold of products of residues below 2^61, and Modulus::reduce_sum takes.
inline constexpr unsigned products_per_sum = 64;

struct PairSum {
  arith::uint128 x = 0, y = 0;

  __device__ __forceinline__ void add_product(const Pair& a, const Pair& b) {
    x += static_cast<arith::uint128>(a.x) * b.x;
    y += static_cast<arith::uint128>(a.y) * b.y;
  }
  __device__ __forceinline__ Pair reduced(const arith::Modulus& q) const {
    return {q.reduce_sum(x), q.reduce_sum(y)};
  }
  __device__ __forceinline__ void fold(const arith::Modulus& q) {
    *this = PairSum{q.reduce_sum(x), q.reduce_sum(y)};
  }
};

}  // namespace hemera::poly::cuda
