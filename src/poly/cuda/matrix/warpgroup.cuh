// Products of bytes by warpgroups of compute capability 9.0, from shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace hemera::poly::cuda::matrix {

/// Rows of 32 bytes in shared memory: [chunk of 16 bytes][row][16 bytes], chunks `chunk_bytes` apart. A
/// warpgroup takes 64 rows of the left factor.
struct Bytes {
  const unsigned char* first;
  unsigned chunk_bytes;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// "Matrix descriptor" of the PTX ISA, without swizzling: eight rows are 128 bytes, and follow each other.
__device__ __forceinline__ std::uint64_t descriptor(const Bytes& rows) {
  const std::uint64_t address = __cvta_generic_to_shared(rows.first);
  constexpr std::uint64_t next_rows = 128;
  return (address & 0x3ffff) >> 4 | std::uint64_t{rows.chunk_bytes} >> 4 << 16 | next_rows >> 4 << 32;
}

#define HEMERA_NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define HEMERA_NAMES_16 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HEMERA_NAMES_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define HEMERA_NAMES_48 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define HEMERA_NAMES_64 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define HEMERA_NAMES_80 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define HEMERA_NAMES_96 \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define HEMERA_NAMES_112 \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define HEMERA_SUMS_4(i) "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3])
#define HEMERA_SUMS_16(i) HEMERA_SUMS_4(i), HEMERA_SUMS_4(i + 4), HEMERA_SUMS_4(i + 8), HEMERA_SUMS_4(i + 12)
#define HEMERA_NAMES_OF_128 HEMERA_NAMES_0 ", " HEMERA_NAMES_16 ", " HEMERA_NAMES_32 ", " HEMERA_NAMES_48
#define HEMERA_SUMS_OF_128 HEMERA_SUMS_16(0), HEMERA_SUMS_16(16), HEMERA_SUMS_16(32), HEMERA_SUMS_16(48)
#define HEMERA_NAMES_OF_192                                                                          \
  HEMERA_NAMES_0 ", " HEMERA_NAMES_16 ", " HEMERA_NAMES_32 ", " HEMERA_NAMES_48 ", " HEMERA_NAMES_64 \
                 ", " HEMERA_NAMES_80
#define HEMERA_SUMS_OF_192                                                                           \
  HEMERA_SUMS_16(0), HEMERA_SUMS_16(16), HEMERA_SUMS_16(32), HEMERA_SUMS_16(48), HEMERA_SUMS_16(64), \
      HEMERA_SUMS_16(80)
#define HEMERA_NAMES_OF_224                                                                          \
  HEMERA_NAMES_0 ", " HEMERA_NAMES_16 ", " HEMERA_NAMES_32 ", " HEMERA_NAMES_48 ", " HEMERA_NAMES_64 \
                 ", " HEMERA_NAMES_80 ", " HEMERA_NAMES_96
#define HEMERA_SUMS_OF_224                                                                           \
  HEMERA_SUMS_16(0), HEMERA_SUMS_16(16), HEMERA_SUMS_16(32), HEMERA_SUMS_16(48), HEMERA_SUMS_16(64), \
      HEMERA_SUMS_16(80), HEMERA_SUMS_16(96)
#define HEMERA_NAMES_OF_256                                                                          \
  HEMERA_NAMES_0 ", " HEMERA_NAMES_16 ", " HEMERA_NAMES_32 ", " HEMERA_NAMES_48 ", " HEMERA_NAMES_64 \
                 ", " HEMERA_NAMES_80 ", " HEMERA_NAMES_96 ", " HEMERA_NAMES_112
#define HEMERA_SUMS_OF_256                                                                           \
  HEMERA_SUMS_16(0), HEMERA_SUMS_16(16), HEMERA_SUMS_16(32), HEMERA_SUMS_16(48), HEMERA_SUMS_16(64), \
      HEMERA_SUMS_16(80), HEMERA_SUMS_16(96), HEMERA_SUMS_16(112)
// Adds to what the sums are: "1" is not 0.
#define HEMERA_MULTIPLY(columns, type, a, b, one)                                \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %" one                \
               ", 0;\n\t"                                                        \
               "wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32." type      \
               ".u8 {" HEMERA_NAMES_OF_##columns "}, %" a ", %" b ", adds;\n\t}" \
               : HEMERA_SUMS_OF_##columns                                        \
               : "l"(descriptor(left)), "l"(descriptor(right)), "r"(1))
#endif

/// c += a b^T, asynchronously, of 64 rows of bytes, signed or not, and `columns` rows of unsigned ones: by a
/// warpgroup, of which c[4 j + i] is row 16 w + lane / 4 + 8 (i / 2), column 8 j + 2 (lane % 4) + i % 2 of
/// its warp w.
template <unsigned columns, bool is_signed>
__device__ __forceinline__ void multiply_rows(int* c, const Bytes& left, const Bytes& right) {
  static_assert(columns == 128 || columns == 192 || columns == 224 || columns == 256);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (columns == 128) {
    if constexpr (is_signed) {
      HEMERA_MULTIPLY(128, "s8", "64", "65", "66");
    } else {
      HEMERA_MULTIPLY(128, "u8", "64", "65", "66");
    }
  } else if constexpr (columns == 192) {
    if constexpr (is_signed) {
      HEMERA_MULTIPLY(192, "s8", "96", "97", "98");
    } else {
      HEMERA_MULTIPLY(192, "u8", "96", "97", "98");
    }
  } else if constexpr (columns == 224) {
    if constexpr (is_signed) {
      HEMERA_MULTIPLY(224, "s8", "112", "113", "114");
    } else {
      HEMERA_MULTIPLY(224, "u8", "112", "113", "114");
    }
  } else if constexpr (columns == 256) {
    if constexpr (is_signed) {
      HEMERA_MULTIPLY(256, "s8", "128", "129", "130");
    } else {
      HEMERA_MULTIPLY(256, "u8", "128", "129", "130");
    }
  }
#elif defined(HEMERA_CUDA_EMULATION)
  // Vectors of the compiler, since the tests spend their time here.
  using Unsigned [[gnu::vector_size(16)]] = unsigned char;
  using Left [[gnu::vector_size(16)]] = std::conditional_t<is_signed, signed char, unsigned char>;
  using Product [[gnu::vector_size(32)]] = std::conditional_t<is_signed, std::int16_t, std::uint16_t>;
  using Sum [[gnu::vector_size(64)]] = int;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  for (unsigned at = 0; at < columns / 2; ++at) {
    const unsigned row = 16 * warp + lane / 4 + 8 * (at % 4 / 2),
                   column = 8 * (at / 4) + 2 * (lane % 4) + at % 2;
    Sum sum = {};
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      const auto* a = reinterpret_cast<const Left*>(left.first + chunk * left.chunk_bytes) + row;
      const auto* b = reinterpret_cast<const Unsigned*>(right.first + chunk * right.chunk_bytes) + column;
      const Product product = __builtin_convertvector(*a, Product) * __builtin_convertvector(*b, Product);
      sum += __builtin_convertvector(product, Sum);
    }
    for (unsigned k = 0; k < 16; ++k) c[at] += sum[k];
  }
#endif
}

/// Called by all warps of a warpgroup, whose threads then have `count` registers, more than before or fewer.
template <unsigned count>
__device__ __forceinline__ void take_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
#endif
}
template <unsigned count>
__device__ __forceinline__ void leave_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

/// Before the first of some products: what the registers have is seen by them.
__device__ __forceinline__ void begin_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
/// After the last of some products.
__device__ __forceinline__ void end_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/// Waits until all but the last `left` products that were ended are done.
template <unsigned left>
__device__ __forceinline__ void await_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
#endif
}

}  // namespace hemera::poly::cuda::matrix
