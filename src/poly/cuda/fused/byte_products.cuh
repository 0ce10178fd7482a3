// Sums of residues times weights as products of byte matrices: the bytes of a coefficient's residues (its
// row) times, for each byte of a residue and each byte of the sum, a byte of weight 2^(8 i) mod q. Sums of up
// to 128 products of bytes stay below 2^23 and are put together exactly.
#pragma once

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/tensor_core.cuh"

namespace hemera::poly::cuda {

/// A sum over the four threads of a quad, rounded: each has one source a step.
__device__ __forceinline__ std::uint64_t rounded_over_quad(arith::uint128 sum) {
  auto low = static_cast<std::uint64_t>(sum);
  auto high = static_cast<std::uint32_t>(sum >> 64);
#pragma unroll
  for (int lanes = 1; lanes <= 2; lanes *= 2) {
    const std::uint64_t other = __shfl_xor_sync(0xffffffffU, low, lanes);
    high += __shfl_xor_sync(0xffffffffU, high, lanes);
    low += other;
    high += low < other ? 1U : 0U;
  }
  return high + (low >> 63);
}

/// Products of bytes of two rows, a pair, for the four column tiles: s[n][0], s[n][1] are the sums of bytes
/// 2n and 2n + 1 of this thread's target in the first row, s[n][2], s[n][3] in the second.
__device__ __forceinline__ void add_products(int (&sums)[4][4], const ulonglong2& pair,
                                             const std::uint32_t (&weights)[4][2]) {
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    multiply_bytes(sums[n], static_cast<std::uint32_t>(pair.x), static_cast<std::uint32_t>(pair.x >> 32),
                   static_cast<std::uint32_t>(pair.y), static_cast<std::uint32_t>(pair.y >> 32),
                   weights[n][0], weights[n][1]);
  }
}

/// Row i of them, of sums below 2^23.
__device__ __forceinline__ ByteSums byte_sums(const int (&sums)[4][4], int i) {
  const auto half = [&](int n) {
    const auto low =
        static_cast<std::uint32_t>(sums[n][2 * i]) + (static_cast<std::uint32_t>(sums[n][2 * i + 1]) << 8);
    const auto high = static_cast<std::uint32_t>(sums[n + 1][2 * i]) +
                      (static_cast<std::uint32_t>(sums[n + 1][2 * i + 1]) << 8);
    return static_cast<std::uint64_t>(high) * 65536U + low;
  };
  return {half(0), half(2)};
}

/// Adds a quotient, at most the number of sources, so that the sums grow by at most 2^36.
__device__ __forceinline__ void add_quotient(ByteSums& sums, std::uint64_t quotient, std::uint64_t product) {
  sums.low += quotient * static_cast<std::uint32_t>(product);
  sums.high += quotient * (product >> 32);
}

/// The result of fold_bytes, canonical.
template <class A>
__device__ __forceinline__ std::uint64_t finish_fold(typename A::Value x, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return A::finish_forward(x, m);
  } else {
    return A::finish_inverse(x, m);
  }
}

/// y / a in fixed point: y factor / 2^shift for y below 2^(shift + 1), whose bits are brought to the top.
__device__ __forceinline__ std::uint64_t fraction(std::uint64_t y, std::uint64_t factor,
                                                  std::uint32_t shift) {
  return static_cast<std::uint64_t>((static_cast<arith::uint128>(y << (63 - shift)) * factor) >> 63);
}

}  // namespace hemera::poly::cuda
