// Sums of four products of bytes ("dp4a" of the PTX ISA).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace hemera::poly::cuda::matrix {

/// c + the products of four bytes of a, signed where the sum is, with the unsigned ones of b.
template <typename Sum>
__device__ __forceinline__ Sum add_products(std::uint32_t a, std::uint32_t b, Sum c) {
  static_assert(sizeof(Sum) == 4);
#if defined(__CUDA_ARCH__)
  Sum result;
  if constexpr (std::is_signed_v<Sum>) {
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  } else {
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  }
  return result;
#else
  using Byte = std::conditional_t<std::is_signed_v<Sum>, std::int8_t, std::uint8_t>;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    c += static_cast<Sum>(static_cast<Byte>(a >> shift)) * static_cast<Sum>(b >> shift & 255);
  }
  return c;
#endif
}

}  // namespace hemera::poly::cuda::matrix
