// Products of bytes, and of doubles, on the tensor cores.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace hemera::poly::cuda {

#if defined(HEMERA_CUDA_EMULATION)
namespace emulated {
// Products of bytes, those of a as `A`.
template <typename A>
void multiply_bytes(int (&c)[4], const std::uint32_t (&own)[6]) {
  const unsigned lane = emulation::current_thread().linear % 32;
  const emulation::LaneBytes* const given = emulation::exchange(own);
  for (unsigned holder = 0; holder < 4; ++holder) {
    const unsigned char* const rows = given[lane / 4 * 4 + holder].data();
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned char* const a = rows + 4 * (i / 2);
      const unsigned char* const b = given[4 * (2 * (lane % 4) + i % 2) + holder].data() + 16;
      for (unsigned k = 0; k < 4; ++k) {
        c[i] += static_cast<A>(a[k]) * b[k] + static_cast<A>(a[8 + k]) * b[4 + k];
      }
    }
  }
}

// Products of doubles, by four columns of a for each of b's registers.
template <unsigned blocks>
void multiply_halves(double (&c)[4], const double (&own_a)[2 * blocks], const double (&own_b)[blocks]) {
  const unsigned lane = emulation::current_thread().linear % 32;
  double a[4][2 * blocks], b[blocks];  // a by lanes of the same rows, b of one lane
  const emulation::LaneBytes* given = emulation::exchange(own_a);
  for (unsigned l = 0; l < 4; ++l) std::memcpy(a[l], given[lane / 4 * 4 + l].data(), sizeof a[l]);
  given = emulation::exchange(own_b);
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned l = 0; l < 4; ++l) {
      std::memcpy(b, given[4 * (2 * (lane % 4) + i) + l].data(), sizeof b);
      for (unsigned k = 0; k < blocks; ++k) {
        c[i] = std::fma(a[l][2 * k], b[k], c[i]);
        c[2 + i] = std::fma(a[l][2 * k + 1], b[k], c[2 + i]);
      }
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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
/// The instruction of cards before compute capability 9.0: m8n8k4, rows g and g + 8 one after the other.
template <int blocks>
__device__ __forceinline__ void multiply_halves_of_rows(double (&c)[4], const double (&a)[2 * blocks],
                                                        const double (&b)[blocks]) {
#pragma unroll
  for (int i = 0; i < 2 * blocks; ++i) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[2 * (i % 2)]), "+d"(c[2 * (i % 2) + 1])
        : "d"(a[i]), "d"(b[i / 2]));
  }
}
#endif

/// c += a b for a of 16 x 16 and b of 16 x 8 doubles, spread over a warp as mma.m16n8k16 has them (PTX ISA,
/// "Matrix fragments for mma.m16n8k16 with .f64 type"). With g = lane / 4 and t = lane % 4: a[2i], a[2i + 1]
/// are column 4i + t of rows g and g + 8; b[i] is row 4i + t of column g; c[0], c[1] are columns 2t, 2t + 1
/// of row g, c[2], c[3] of row g + 8. Halves of residues: c is exact where sums stay below 2^53, in
/// whatever order they are made.
__device__ __forceinline__ void multiply_halves(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
        "d"(b[1]), "d"(b[2]), "d"(b[3]));
#elif defined(__CUDA_ARCH__)
  multiply_halves_of_rows<4>(c, a, b);
#elif defined(HEMERA_CUDA_EMULATION)
  emulated::multiply_halves<4>(c, a, b);
#endif
}

/// The same of eight columns of a, as mma.m16n8k8 has them.
__device__ __forceinline__ void multiply_halves(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__)
  multiply_halves_of_rows<2>(c, a, b);
#elif defined(HEMERA_CUDA_EMULATION)
  emulated::multiply_halves<2>(c, a, b);
#endif
}

}  // namespace hemera::poly::cuda
