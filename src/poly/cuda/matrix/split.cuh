// Bytes of words as the tensor cores take them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace hemera::poly::cuda::matrix {

/// Bytes 0 to 3 of four words of 32 bits: bytes[i] has byte i of each, the first word's lowest.
__device__ __forceinline__ void transpose_bytes(std::uint32_t (&bytes)[4], std::uint32_t a, std::uint32_t b,
                                                std::uint32_t c, std::uint32_t d) {
  const std::uint32_t low_ab = __byte_perm(a, b, 0x5140), low_cd = __byte_perm(c, d, 0x5140);
  const std::uint32_t high_ab = __byte_perm(a, b, 0x7362), high_cd = __byte_perm(c, d, 0x7362);
  bytes[0] = __byte_perm(low_ab, low_cd, 0x5410);
  bytes[1] = __byte_perm(low_ab, low_cd, 0x7632);
  bytes[2] = __byte_perm(high_ab, high_cd, 0x5410);
  bytes[3] = __byte_perm(high_ab, high_cd, 0x7632);
}

/// The lowest `count` bytes of four residues: bytes[i] has byte i of each.
template <unsigned count>
__device__ __forceinline__ void split(std::uint32_t (&bytes)[count], const std::uint64_t (&words)[4]) {
  std::uint32_t part[4];
  const auto half = [&](unsigned k, bool high) {
    return static_cast<std::uint32_t>(high ? words[k] >> 32 : words[k]);
  };
#pragma unroll
  for (unsigned first = 0; first < count; first += 4) {
    transpose_bytes(part, half(0, first != 0), half(1, first != 0), half(2, first != 0), half(3, first != 0));
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (first + i < count) bytes[first + i] = part[i];
    }
  }
}

}  // namespace hemera::poly::cuda::matrix
