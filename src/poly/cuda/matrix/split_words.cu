// Integers and residues become bytes in memory, in the order in which warpgroups take them.
#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix_chunks.cuh"
#include "poly/cuda/matrix/split.cuh"
#include "poly/cuda/matrix/split_layout.cuh"

namespace hemera::poly::cuda::matrix {
namespace {

template <unsigned planes>
__global__ void __launch_bounds__(MatrixRows::threads)
    pack_rows_kernel(uint4* packed, const __grid_constant__ MatrixRows from) {
  begin_kernel();
  for_each_chunk<planes>(from, planes, [&](const std::uint32_t(&bytes)[planes][4], std::size_t place) {
#pragma unroll
    for (unsigned v = 0; v < planes; ++v) {
      packed[place + std::size_t{v} * from.steps * (block_bytes / sizeof(uint4))] =
          uint4{bytes[v][0], bytes[v][1], bytes[v][2], bytes[v][3]};
    }
  });
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
  const MatrixRows from(w);
  launch("multiply_matrix", launcher.stream, w.bytes == 1 ? pack_rows_kernel<1> : pack_rows_kernel<2>,
         {from.grid()}, {MatrixRows::threads}, 0, reinterpret_cast<uint4*>(packed), from);
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
