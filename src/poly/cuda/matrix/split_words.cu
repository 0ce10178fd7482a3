// Integers and residues become bytes in memory, in the order in which warpgroups take them.
#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/split.cuh"
#include "poly/cuda/matrix/split_layout.cuh"

namespace hemera::poly::cuda::matrix {
namespace {

// A chunk of a row's integers, kind by kind, which stands at an address of a multiple of 16 bytes.
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

// Blocks [block of rows, step], a thread for each row and two chunks. `whole`: chunks of 16 columns stand at
// multiples of 16 bytes.
template <unsigned planes>
__global__ void __launch_bounds__(rows_of_block* chunks_of_step / 2)
    pack_rows_kernel(uint4* packed, const std::uint8_t* integers, unsigned rows, unsigned columns,
                     unsigned steps, bool whole) {
  begin_kernel();
  const unsigned block = blockIdx.x / steps, step = blockIdx.x % steps, row = threadIdx.x % rows_of_block;
  const std::size_t matrix_row = std::size_t{block} * rows_of_block + row;
  constexpr unsigned group_size = group_bytes / sizeof(uint4);
  uint4* const to = packed +
                    (std::size_t{block * groups + row / rows_of_group} * planes * steps + step) * group_size +
                    row % rows_of_group;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned chunk = threadIdx.x / rows_of_block * 2 + half;
    const unsigned first = step * columns_of_step + chunk * columns_of_chunk;
    const std::uint8_t* const chunk_of_row = integers + (matrix_row * columns + first) * planes;
    std::uint32_t bytes[planes][4] = {};
    if (matrix_row < rows && first < columns) {
      if (whole) {
        read_chunk<planes>(bytes, chunk_of_row);
      } else {
#pragma unroll
        for (unsigned i = 0; i < columns_of_chunk; ++i) {
          if (first + i >= columns) break;
#pragma unroll
          for (unsigned v = 0; v < planes; ++v) {
            bytes[v][i / 4] |= std::uint32_t{chunk_of_row[i * planes + v]} << (8 * (i % 4));
          }
        }
      }
    }
#pragma unroll
    for (unsigned v = 0; v < planes; ++v) {
      to[v * steps * group_size + chunk * rows_of_group] =
          uint4{bytes[v][0], bytes[v][1], bytes[v][2], bytes[v][3]};
    }
  }
}

// Grid [step, tile of entries, unit], a warp for each chunk.
template <unsigned bytes>
__global__ void __launch_bounds__(chunks_of_step * 32)
    split_kernel(uint4* split, ConstDeviceView in, const __grid_constant__ SplitPart part) {
  begin_kernel();
  const unsigned chunk = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned first = blockIdx.x * columns_of_step + chunk * columns_of_chunk;
  const unsigned entry = (part.first_tile + blockIdx.y) * entries_of_tile + lane;
  const unsigned component = part.component(blockIdx.z), limb = part.limb(blockIdx.z);
  std::uint32_t parts[4][bytes];
#pragma unroll
  for (unsigned four = 0; four < 4; ++four) {
    std::uint64_t words[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned column = first + 4 * four + i;
      words[i] = column < part.columns ? in.limb(column, component, limb)[entry] : 0;
    }
    matrix::split<bytes>(parts[four], words);
  }
  const std::size_t tile = (std::size_t{blockIdx.z} * part.tiles + blockIdx.y) * part.steps + blockIdx.x;
  uint4* const to =
      split + tile * (tile_bytes(bytes) / sizeof(uint4)) + chunk * bytes * entries_of_tile + lane;
#pragma unroll
  for (unsigned s = 0; s < bytes; ++s) {
    to[s * entries_of_tile] = uint4{parts[0][s], parts[1][s], parts[2][s], parts[3][s]};
  }
}

}  // namespace

void pack_rows(const Launcher& launcher, std::byte* packed, const IntegerMatrixView& w) {
  const unsigned steps = steps_of(w.columns);
  const bool whole =
      w.columns % columns_of_chunk == 0 && reinterpret_cast<std::uintptr_t>(w.data) % sizeof(uint4) == 0;
  launch("multiply_matrix", launcher.stream, w.bytes == 1 ? pack_rows_kernel<1> : pack_rows_kernel<2>,
         {packed_blocks_of(w.rows) * steps}, {rows_of_block * chunks_of_step / 2}, 0,
         reinterpret_cast<uint4*>(packed), reinterpret_cast<const std::uint8_t*>(w.data),
         static_cast<unsigned>(w.rows), static_cast<unsigned>(w.columns), steps, whole);
}

void split_words(const Launcher& launcher, std::byte* split, const ConstPolyView& in, const SplitPart& part,
                 unsigned bytes) {
  with_bytes(bytes, [&](auto count) {
    launch("multiply_matrix", launcher.stream, split_kernel<decltype(count)::value>,
           {part.steps, part.tiles, part.units}, {chunks_of_step * 32}, 0, reinterpret_cast<uint4*>(split),
           device_view(in), part);
  });
}

}  // namespace hemera::poly::cuda::matrix
