// Products of bytes on the tensor cores.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace hemera::poly::cuda {

#if defined(HEMERA_CUDA_EMULATION)
namespace emulated {
// Products of bytes, those of a as `A`.
template <typename A>
void multiply_bytes(int (&c)[4], const std::uint32_t (&own)[6]) {
  const unsigned lane = emulation::current_thread().linear % 32;
  const emulation::LaneBytes* const given = emulation::exchange(own);
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned holder = k % 16 / 4;
      c[i] += static_cast<A>(given[4 * (row % 8) + holder][4 * (2 * (k / 16) + row / 8) + k % 4]) *
              given[4 * column + holder][4 * (4 + k / 16) + k % 4];
    }
  }
}
}  // namespace emulated
#endif

/// c += a b for a of 16 x 32 and b of 32 x 8 unsigned bytes, spread over a warp as mma.m16n8k32 has them (PTX
/// ISA, "Matrix fragments for mma.m16n8k32"). With g = lane / 4 and t = lane % 4: a0, a1 have the columns 4t
/// ... 4t + 3 of rows g and g + 8, a2, a3 the columns 16 + 4t ... of the same; b0, b1 the same rows of column
/// g; c[0], c[1] are columns 2t, 2t + 1 of row g, c[2], c[3] of row g + 8.
__device__ __forceinline__ void multiply_bytes(int (&c)[4], std::uint32_t a0, std::uint32_t a1,
                                               std::uint32_t a2, std::uint32_t a3, std::uint32_t b0,
                                               std::uint32_t b1) {
#if defined(__CUDA_ARCH__)
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#elif defined(HEMERA_CUDA_EMULATION)
  emulated::multiply_bytes<std::uint8_t>(c, {a0, a1, a2, a3, b0, b1});
#endif
}

/// The same for signed bytes of a.
__device__ __forceinline__ void multiply_signed_bytes(int (&c)[4], std::uint32_t a0, std::uint32_t a1,
                                                      std::uint32_t a2, std::uint32_t a3, std::uint32_t b0,
                                                      std::uint32_t b1) {
#if defined(__CUDA_ARCH__)
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#elif defined(HEMERA_CUDA_EMULATION)
  emulated::multiply_bytes<std::int8_t>(c, {a0, a1, a2, a3, b0, b1});
#endif
}

}  // namespace hemera::poly::cuda
