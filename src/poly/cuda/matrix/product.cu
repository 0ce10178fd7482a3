// Matrices of integers times rows of residues, on the tensor cores: bytes of integers, signed or (the lower
// ones of two) unsigned, times the unsigned bytes of the residues' own words. Words become bytes, and sums
// of bytes residues, in registers.
//
// A block makes 64 rows of 64 entries, and takes 32 columns a step; a warp makes all rows of its own eight
// entries, so that each word is split once a block. Blocks of the same entries are neighbours: they find the
// words in the second-level cache.
#include <algorithm>

#include "poly/cuda/copies.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/join.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/split.cuh"
#include "poly/cuda/tensor_core.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned threads = 256;
constexpr unsigned rows_of_block = 64;
constexpr unsigned entries_of_block = 64;
constexpr unsigned columns_of_step = 32;
constexpr unsigned stages = 4;
constexpr unsigned rows_of_tile = 16, tiles = rows_of_block / rows_of_tile;
constexpr unsigned entries_of_warp = 8;
static_assert(threads / 32 * entries_of_warp == entries_of_block && min_degree % entries_of_block == 0);

// The bytes of one kind, low or high, of the integers of a block and a step: [row][column].
constexpr unsigned plane_bytes = rows_of_block * columns_of_step;
constexpr unsigned word_bytes = columns_of_step * entries_of_block * sizeof(std::uint64_t);
constexpr unsigned stage_bytes(unsigned planes) { return word_bytes + planes * plane_bytes; }

unsigned steps_of(std::size_t columns) {
  return static_cast<unsigned>((columns + columns_of_step - 1) / columns_of_step);
}
unsigned blocks_of(std::size_t rows) {
  return static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
}

// Blocks [block of rows, step]: a thread has eight columns of a row. What is beyond the matrix is 0.
template <unsigned planes>
__global__ void __launch_bounds__(threads) pack_kernel(std::uint8_t* packed, const std::uint8_t* integers,
                                                       unsigned rows, unsigned columns, unsigned steps) {
  begin_kernel();
  constexpr unsigned columns_of_thread = 8;
  static_assert(threads * columns_of_thread == plane_bytes);
  const unsigned row = threadIdx.x / (columns_of_step / columns_of_thread);
  const unsigned first = threadIdx.x % (columns_of_step / columns_of_thread) * columns_of_thread;
  const std::size_t matrix_row = std::size_t{blockIdx.x / steps} * rows_of_block + row;
  const unsigned column = blockIdx.x % steps * columns_of_step + first;
  std::uint64_t bytes[planes] = {};
  for (unsigned i = 0; i < columns_of_thread; ++i) {
    if (matrix_row >= rows || column + i >= columns) break;
    const std::uint8_t* integer = integers + (matrix_row * columns + column + i) * planes;
#pragma unroll
    for (unsigned v = 0; v < planes; ++v) bytes[v] |= static_cast<std::uint64_t>(integer[v]) << (8 * i);
  }
  std::uint8_t* tile = packed + std::size_t{blockIdx.x} * planes * plane_bytes;
#pragma unroll
  for (unsigned v = 0; v < planes; ++v) {
    *reinterpret_cast<std::uint64_t*>(tile + v * plane_bytes + row * columns_of_step + first) = bytes[v];
  }
}

// The operands of a launch.
struct Product {
  DeviceView out;
  ConstDeviceView in;
  const std::uint8_t* packed;
  unsigned rows, columns, steps, steps_of_sum;
  unsigned first_component, limbs_of_launch;
  LimbModuli limbs;
};

// Where words stand in a stage: pairs of entries change places, so that the four threads of a warp that have
// one entry read from different banks.
__device__ __forceinline__ unsigned place_of(unsigned column, unsigned entry) {
  return column * entries_of_block + (entry ^ (4 * (column / 8)));
}

template <unsigned planes>
__device__ __forceinline__ void copy_stage(unsigned char* stage, const Product& product, unsigned component,
                                           unsigned limb, unsigned step) {
  constexpr unsigned pairs = entries_of_block / 2;
  auto* words = reinterpret_cast<std::uint64_t*>(stage);
#pragma unroll
  for (unsigned i = threadIdx.x; i < columns_of_step * pairs; i += threads) {
    const unsigned column = i / pairs, entry = i % pairs * 2;
    if (step * columns_of_step + column >= product.columns) break;  // the integers are 0 there
    copy_past_first_level(reinterpret_cast<ulonglong2*>(words + place_of(column, entry)),
                          reinterpret_cast<const ulonglong2*>(
                              product.in.limb(step * columns_of_step + column, component, limb) +
                              blockIdx.y * entries_of_block + entry));
  }
  const std::uint8_t* from =
      product.packed + (std::size_t{blockIdx.x} * product.steps + step) * planes * plane_bytes;
  for (unsigned i = threadIdx.x * 16; i < planes * plane_bytes; i += threads * 16) {
    copy_past_first_level(reinterpret_cast<ulonglong2*>(stage + word_bytes + i),
                          reinterpret_cast<const ulonglong2*>(from + i));
  }
}

// Sums of products of bytes by weight, of a thread's rows: [tile][weight][element of the tile].
template <unsigned sums>
using Sums = int[tiles][sums][4];

// Adds a step. The tensor core's column 4 t + i is column 8 t + i of the step for i < 4, its column
// 16 + 4 t + i column 8 t + 4 + i, in both factors: what a thread has then stands in a row.
template <unsigned bytes, unsigned planes>
__device__ __forceinline__ void add_step(Sums<bytes + planes - 1>& sums, const unsigned char* stage,
                                         unsigned used_tiles) {
  const unsigned lane = threadIdx.x % 32, group = lane / 4, quarter = lane % 4;
  const unsigned entry = threadIdx.x / 32 * entries_of_warp + group;
  const auto* words = reinterpret_cast<const std::uint64_t*>(stage);
  std::uint32_t right[2][bytes];
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    std::uint64_t four[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) four[i] = words[place_of(8 * quarter + 4 * half + i, entry)];
    matrix::split<bytes>(right[half], four);
  }
#pragma unroll
  for (unsigned tile = 0; tile < tiles; ++tile) {
    if (tile >= used_tiles) break;
#pragma unroll
    for (unsigned v = 0; v < planes; ++v) {
      const unsigned char* left = stage + word_bytes + v * plane_bytes +
                                  (tile * rows_of_tile + group) * columns_of_step + 8 * quarter;
      const uint2 upper = *reinterpret_cast<const uint2*>(left);
      const uint2 lower = *reinterpret_cast<const uint2*>(left + 8 * columns_of_step);
#pragma unroll
      for (unsigned s = 0; s < bytes; ++s) {
        if (v == planes - 1) {
          multiply_signed_bytes(sums[tile][s + v], upper.x, lower.x, upper.y, lower.y, right[0][s],
                                right[1][s]);
        } else {
          multiply_bytes(sums[tile][s + v], upper.x, lower.x, upper.y, lower.y, right[0][s], right[1][s]);
        }
      }
    }
  }
}

// Writes the sums, `adds`: to what `out` has, and clears them.
template <unsigned bytes, unsigned count>
__device__ __forceinline__ void write_sums(Sums<count>& sums, const Product& product, unsigned component,
                                           unsigned limb, bool adds, const Modulus& q,
                                           const matrix::Join<bytes>& join) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned entry = blockIdx.y * entries_of_block + threadIdx.x / 32 * entries_of_warp + lane % 4 * 2;
#pragma unroll
  for (unsigned tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = blockIdx.x * rows_of_block + tile * rows_of_tile + 8 * half + lane / 4;
      if (row < product.rows) {
        auto* to = reinterpret_cast<ulonglong2*>(product.out.limb(row, component, limb) + entry);
        const auto joined = [&](unsigned i) {
          return join.template operator()<count>([&](unsigned s) { return sums[tile][s][2 * half + i]; });
        };
        ulonglong2 result = make_ulonglong2(joined(0), joined(1));
        if (adds) result = make_ulonglong2(q.add(result.x, to->x), q.add(result.y, to->y));
        *to = result;
      }
    }
#pragma unroll
    for (unsigned s = 0; s < count; ++s) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) sums[tile][s][i] = 0;
    }
  }
}

// Residues of this many bytes: grid [block of rows, block of entries, component and limb].
template <unsigned bytes, unsigned planes>
__global__ void __launch_bounds__(threads, 1)
    product_kernel(const __grid_constant__ Product product, const Modulus* moduli) {
  constexpr unsigned count = bytes + planes - 1;
  auto* shared = dynamic_shared<unsigned char>();
  const unsigned limb = blockIdx.z % product.limbs_of_launch;
  const unsigned component = product.first_component + blockIdx.z / product.limbs_of_launch;
  const Modulus q = moduli[product.limbs.ring_index[limb]];
  const unsigned rows = product.rows - blockIdx.x * rows_of_block;
  const unsigned used_tiles = rows < rows_of_block ? (rows + rows_of_tile - 1) / rows_of_tile : tiles;
  begin_kernel();
  const auto stage = [&](unsigned step) { return shared + step % stages * stage_bytes(planes); };
  const auto copy = [&](unsigned step) {
    if (step < product.steps) copy_stage<planes>(stage(step), product, component, limb, step);
    end_group_of_copies();
  };
  const matrix::Join<bytes> join(q);
  Sums<count> sums = {};
  for (unsigned step = 0; step + 1 < stages; ++step) copy(step);
  unsigned next_sum = product.steps_of_sum;
  for (unsigned step = 0; step < product.steps; ++step) {
    finish_groups_of_copies<stages - 2>();
    __syncthreads();  // the stage is there, and nobody reads the one before
    copy(step + stages - 1);
    add_step<bytes, planes>(sums, stage(step), used_tiles);
    if (step + 1 == next_sum || step + 1 == product.steps) {
      write_sums<bytes, count>(sums, product, component, limb, next_sum != product.steps_of_sum, q, join);
      next_sum += product.steps_of_sum;
    }
  }
}

template <unsigned bytes>
void launch_product(const Launcher& launcher, const Product& product, unsigned planes, const dim3& grid) {
  const auto run = [&](auto kernel) {
    launch_as({.grid = grid, .block = {threads}, .shared_bytes = stages * stage_bytes(planes)},
              "multiply_matrix", launcher.stream, kernel, product, launcher.tables->moduli());
  };
  planes == 1 ? run(product_kernel<bytes, 1>) : run(product_kernel<bytes, 2>);
}

void launch_product(const Launcher& launcher, unsigned bytes, const Product& product, unsigned planes,
                    const dim3& grid) {
  matrix::with_bytes(bytes, [&](auto count) { launch_product<count>(launcher, product, planes, grid); });
}

}  // namespace

std::size_t packed_matrix_bytes(const IntegerMatrixView& w) {
  return std::size_t{blocks_of(w.rows)} * steps_of(w.columns) * plane_bytes *
         static_cast<std::size_t>(w.bytes);
}

void multiply_matrix(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const IntegerMatrixView& w, std::byte* packed, std::size_t columns_per_sum,
                     const RnsBase& base) {
  const auto rows = static_cast<unsigned>(w.rows), columns = static_cast<unsigned>(w.columns);
  const auto planes = static_cast<unsigned>(w.bytes);
  auto* const tiles_of_matrix = reinterpret_cast<std::uint8_t*>(packed);
  launch("multiply_matrix", launcher.stream, planes == 1 ? pack_kernel<1> : pack_kernel<2>,
         {blocks_of(w.rows) * steps_of(w.columns)}, {threads}, 0, tiles_of_matrix,
         reinterpret_cast<const std::uint8_t*>(w.data), rows, columns, steps_of(w.columns));
  matrix::for_each_kernel(out.shape, base,
                          [&](std::size_t limb, std::size_t limbs, std::size_t component,
                              std::size_t components, unsigned bytes) {
                            const Product product{
                                .out = device_view(out.limbs(limb, limbs)),
                                .in = device_view(in.limbs(limb, limbs)),
                                .packed = tiles_of_matrix,
                                .rows = rows,
                                .columns = columns,
                                .steps = steps_of(w.columns),
                                .steps_of_sum = static_cast<unsigned>(columns_per_sum / columns_of_step),
                                .first_component = static_cast<unsigned>(component),
                                .limbs_of_launch = static_cast<unsigned>(limbs),
                                .limbs = limb_moduli(base, limb, limbs)};
                            launch_product(launcher, bytes, product, planes,
                                           {blocks_of(w.rows), launcher.degree() / entries_of_block,
                                            static_cast<unsigned>(components * limbs)});
                          });
}

}  // namespace hemera::poly::cuda
