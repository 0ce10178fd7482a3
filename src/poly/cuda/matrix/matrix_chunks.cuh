// Chunks of a matrix's rows, as kernels that pack them for warpgroups read them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "poly/cuda/matrix/split_layout.cuh"

namespace hemera::poly::cuda::matrix {

/// A matrix of integers, row by row, whose rows fill blocks and whose columns steps: what is beyond is 0.
struct MatrixRows {
  const std::uint8_t* integers;
  unsigned rows, columns, steps;
  bool whole;  // chunks of 16 columns stand at multiples of 16 bytes

  explicit MatrixRows(const IntegerMatrixView& w)
      : integers(reinterpret_cast<const std::uint8_t*>(w.data)),
        rows(static_cast<unsigned>(w.rows)),
        columns(static_cast<unsigned>(w.columns)),
        steps(steps_of(w.columns)),
        whole(w.columns % columns_of_chunk == 0 &&
              reinterpret_cast<std::uintptr_t>(w.data) % sizeof(uint4) == 0) {}

  /// The launch of kernels that pack them: a grid of blocks of rows and their steps, a thread for each row
  /// and two chunks.
  [[nodiscard]] unsigned grid() const { return blocks_of(rows) * steps; }
  static constexpr unsigned threads = rows_of_block * chunks_of_step / 2;
};

/// A chunk of a row's integers, which stands at an address of a multiple of 16 bytes.
template <unsigned planes>
__device__ __forceinline__ void read_chunk(std::uint32_t (&bytes)[planes][4], const std::uint8_t* integers) {
  const auto* const from = reinterpret_cast<const uint4*>(integers);
  if constexpr (planes == 1) {
    const uint4 four = *from;
    bytes[0][0] = four.x;
    bytes[0][1] = four.y;
    bytes[0][2] = four.z;
    bytes[0][3] = four.w;
  } else {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const uint4 four = from[half];
#pragma unroll
      for (unsigned v = 0; v < planes; ++v) {
        const unsigned selected = v == 0 ? 0x6420 : 0x7531;
        bytes[v][2 * half] = __byte_perm(four.x, four.y, selected);
        bytes[v][2 * half + 1] = __byte_perm(four.z, four.w, selected);
      }
    }
  }
}

/// Calls write(bytes, place) for each chunk of a thread: its integers' bytes, kind by kind, and the chunk's
/// place, in chunks of 16 bytes, in [block][kind][step][chunk][row], of `kinds` kinds that are written.
/// Another kind is block_bytes times steps from there.
template <unsigned planes, typename Write>
__device__ __forceinline__ void for_each_chunk(const MatrixRows& from, unsigned kinds, const Write& write) {
  const unsigned block = blockIdx.x / from.steps, step = blockIdx.x % from.steps;
  const unsigned row = threadIdx.x % rows_of_block;
  const std::size_t matrix_row = std::size_t{block} * rows_of_block + row;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned chunk = threadIdx.x / rows_of_block * 2 + half;
    const unsigned first = step * columns_of_step + chunk * columns_of_chunk;
    const std::uint8_t* const integers = from.integers + (matrix_row * from.columns + first) * planes;
    std::uint32_t bytes[planes][4] = {};
    if (matrix_row < from.rows && first < from.columns) {
      if (from.whole) {
        read_chunk<planes>(bytes, integers);
      } else {
#pragma unroll
        for (unsigned i = 0; i < columns_of_chunk; ++i) {
          if (first + i >= from.columns) break;
#pragma unroll
          for (unsigned v = 0; v < planes; ++v) {
            bytes[v][i / 4] |= std::uint32_t{integers[i * planes + v]} << (8 * (i % 4));
          }
        }
      }
    }
    write(bytes, (std::size_t{block} * kinds * from.steps + step) * (block_bytes / sizeof(uint4)) +
                     chunk * rows_of_block + row);
  }
}

}  // namespace hemera::poly::cuda::matrix
