// Matrices of integers times rows of residues by warpgroups, from shared memory: words become bytes in memory
// first, in the order in which the tensor cores take them, so that a bulk copy brings a step's. Sums become
// residues in registers. W8 and W16 of 4,096^3 are bound by the tensor cores.
#include <algorithm>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/cluster_stages.cuh"
#include "poly/cuda/matrix/join.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/split.cuh"
#include "poly/cuda/matrix/warpgroup.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned rows_of_group = 64;
constexpr unsigned warps_of_group = 4;
constexpr unsigned groups = 2;
constexpr unsigned rows_of_block = groups * rows_of_group;
constexpr unsigned warps = groups * warps_of_group;  // and one that asks for bytes
constexpr unsigned threads = (warps + 1) * 32;
constexpr unsigned stages = 4;
constexpr unsigned entries_of_tile = 32;
constexpr unsigned columns_of_step = 128;
constexpr unsigned columns_of_chunk = 16;  // which stand together
constexpr unsigned chunks_of_step = columns_of_step / columns_of_chunk;
constexpr unsigned columns_of_product = 32;
static_assert(min_degree % entries_of_tile == 0);

// The bytes of one kind of a block's rows in a step, and all bytes of a tile's entries.
constexpr unsigned plane_bytes = rows_of_block * columns_of_step;
constexpr unsigned tile_bytes(unsigned bytes) { return bytes * entries_of_tile * columns_of_step; }
constexpr unsigned stage_bytes(unsigned bytes) { return tile_bytes(bytes) + plane_bytes; }

unsigned steps_of(std::size_t columns) {
  return static_cast<unsigned>((columns + columns_of_step - 1) / columns_of_step);
}
// Blocks of a cluster share the entries' bytes. Few rows leave no block of one idle.
unsigned blocks_of_cluster(std::size_t rows) {
  const std::size_t blocks = (rows + rows_of_block - 1) / rows_of_block;
  return blocks > 4 || blocks % 2 == 0 ? 2 : 1;
}
unsigned blocks_of(std::size_t rows) {
  const std::size_t cluster = blocks_of_cluster(rows);
  return static_cast<unsigned>((rows + cluster * rows_of_block - 1) / (cluster * rows_of_block) * cluster);
}
// Blocks [block of rows, step], a thread for each row and chunk of half the chunks:
// [block][plane][step][chunk] [row][16 bytes]. What is beyond the matrix is 0.
template <unsigned planes>
__global__ void __launch_bounds__(rows_of_block* chunks_of_step / 2)
    pack_rows_kernel(uint4* packed, const std::uint8_t* integers, unsigned rows, unsigned columns,
                     unsigned steps) {
  begin_kernel();
  const unsigned row = threadIdx.x % rows_of_block;
  const std::size_t matrix_row = std::size_t{blockIdx.x / steps} * rows_of_block + row;
  constexpr unsigned plane_size = plane_bytes / sizeof(uint4);
  uint4* const to =
      packed + (std::size_t{blockIdx.x / steps} * planes * steps + blockIdx.x % steps) * plane_size + row;
  for (unsigned chunk = threadIdx.x / rows_of_block; chunk < chunks_of_step; chunk += chunks_of_step / 2) {
    const unsigned first = blockIdx.x % steps * columns_of_step + chunk * columns_of_chunk;
    std::uint32_t bytes[planes][4] = {};
    for (unsigned i = 0; i < columns_of_chunk; ++i) {
      if (matrix_row >= rows || first + i >= columns) break;
      const std::uint8_t* integer = integers + (matrix_row * columns + first + i) * planes;
#pragma unroll
      for (unsigned v = 0; v < planes; ++v) bytes[v][i / 4] |= std::uint32_t{integer[v]} << (8 * (i % 4));
    }
#pragma unroll
    for (unsigned v = 0; v < planes; ++v) {
      to[v * steps * plane_size + chunk * rows_of_block] =
          uint4{bytes[v][0], bytes[v][1], bytes[v][2], bytes[v][3]};
    }
  }
}

// Some entries of some polynomials of a batch, which a launch splits or multiplies.
struct Part {
  unsigned first_tile, tiles;  // of entries
  unsigned first_unit;         // component and limb
  unsigned limbs;              // of a component
  unsigned columns, steps;

  __device__ __forceinline__ unsigned component() const { return (first_unit + blockIdx.z) / limbs; }
  __device__ __forceinline__ unsigned limb() const { return (first_unit + blockIdx.z) % limbs; }
};

// Grid [step, tile of entries, unit], a warp for each chunk: [unit][tile][step][chunk][byte of the
// word][entry] [16 bytes]. Beyond the columns is 0.
template <unsigned bytes>
__global__ void __launch_bounds__(chunks_of_step * 32)
    split_kernel(uint4* split, ConstDeviceView in, const __grid_constant__ Part part) {
  begin_kernel();
  const unsigned chunk = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned first = blockIdx.x * columns_of_step + chunk * columns_of_chunk;
  const unsigned entry = (part.first_tile + blockIdx.y) * entries_of_tile + lane;
  const unsigned component = part.component(), limb = part.limb();
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

// What a launch multiplies.
struct SplitProduct {
  DeviceView out;
  const std::uint8_t* matrix;
  const std::uint8_t* split;
  unsigned rows, steps_of_sum;
  Part part;
  LimbModuli limbs;
};

// A thread's sums of products of bytes: [weight][eight entries][element], as multiply_rows has them.
constexpr unsigned sums_of_weight = entries_of_tile / 2;

// Writes the sums, those of the high bytes times 256; `adds`: to what `out` has.
template <unsigned bytes>
__device__ __forceinline__ void write_sums(const int (&sums)[bytes * sums_of_weight],
                                           const SplitProduct& product, unsigned first_row, bool are_high,
                                           bool adds, const Modulus& q, const matrix::Join<bytes>& join) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned component = product.part.component(), limb = product.part.limb();
  const unsigned entry = (product.part.first_tile + blockIdx.y) * entries_of_tile + lane % 4 * 2;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = first_row + 8 * half + lane / 4;
    if (row < product.rows) {
      std::uint64_t* const to = product.out.limb(row, component, limb) + entry;
#pragma unroll
      for (unsigned eight = 0; eight < entries_of_tile / 8; ++eight) {
        const auto joined = [&](unsigned i) {
          const std::uint64_t sum = join.template operator()<bytes>(
              [&](unsigned s) { return sums[s * sums_of_weight + 4 * eight + 2 * half + i]; });
          return are_high ? join.next_byte(sum) : sum;
        };
        auto* const pair = reinterpret_cast<ulonglong2*>(to + 8 * eight);
        ulonglong2 result = make_ulonglong2(joined(0), joined(1));
        if (adds) result = make_ulonglong2(q.add(result.x, pair->x), q.add(result.y, pair->y));
        *pair = result;
      }
    }
  }
}

// Adds a step's products.
template <unsigned bytes, bool is_signed>
__device__ __forceinline__ void add_step(int (&sums)[bytes * sums_of_weight], const unsigned char* left,
                                         const unsigned char* right) {
  constexpr unsigned columns = bytes * entries_of_tile;
  constexpr unsigned left_chunk = rows_of_block * columns_of_chunk, right_chunk = columns * columns_of_chunk;
#pragma unroll
  for (unsigned chunk = 0; chunk < chunks_of_step; chunk += columns_of_product / columns_of_chunk) {
    matrix::multiply_rows<columns, is_signed>(sums, {left + chunk * left_chunk, left_chunk},
                                              {right + chunk * right_chunk, right_chunk});
  }
}

// Residues of so many bytes: grid [block of rows, tile of entries, unit]. Low and high bytes of the integers
// go through the steps one after the other. The last warp asks for the steps' bytes.
template <unsigned bytes, unsigned planes, unsigned cluster>
__global__ void __launch_bounds__(threads, 1)
    split_product_kernel(const __grid_constant__ SplitProduct product, const Modulus* moduli) {
  constexpr unsigned size = stage_bytes(bytes);
  auto* const shared = dynamic_shared<unsigned char>();
  unsigned char* const first_stage = shared + matrix::ClusterStages<cluster>::bytes;
  const matrix::ClusterStages<cluster> barriers(shared, warps);
  const unsigned steps = product.part.steps, all_steps = planes * steps;
  begin_kernel();
  // One number for a warp, which the compiler must know for asynchronous products.
  const unsigned warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  if (warp == warps) {
    const std::size_t tile = std::size_t{blockIdx.z} * product.part.tiles + blockIdx.y;
    const auto request = [&](unsigned step, unsigned stage) {
      if (threadIdx.x % 32 == 0) {
        unsigned char* const to = first_stage + stage * size;
        barriers.expect(stage, size);
        barriers.copy_shared(stage, to, product.split + (tile * steps + step % steps) * tile_bytes(bytes),
                             tile_bytes(bytes));
        barriers.copy(stage, to + tile_bytes(bytes),
                      product.matrix + (std::size_t{blockIdx.x} * all_steps + step) * plane_bytes,
                      plane_bytes);
      }
      __syncwarp();
    };
    for (unsigned step = 0; step < stages && step < all_steps; ++step) request(step, step);
    barriers.keep_step();
    StagePlace before;
    for (unsigned step = 1; step < all_steps; ++step) {
      barriers.keep_step();
      if (step - 1 + stages >= all_steps) continue;
      barriers.wait_empty(before);
      request(step - 1 + stages, before.stage);
      before.advance(stages);
    }
    return barriers.finish();
  }

  const unsigned group = warp / warps_of_group;
  const unsigned first_row = blockIdx.x * rows_of_block + group * rows_of_group +
                             warp % warps_of_group * (rows_of_group / warps_of_group);
  const Modulus q = moduli[product.limbs.ring_index[product.part.limb()]];
  const matrix::Join<bytes> join(q);
  bool adds = false;
  StagePlace place, before;
#pragma unroll
  for (unsigned plane = 0; plane < planes; ++plane) {
    for (unsigned step = 0; step < steps;) {
      const unsigned end = min(step + product.steps_of_sum, steps);
      int sums[bytes * sums_of_weight] = {};
      for (bool is_first = true; step < end; ++step, is_first = false) {
        barriers.wait_full(place);
        const unsigned char* const right = first_stage + place.stage * size;
        const unsigned char* const left =
            right + tile_bytes(bytes) + group * rows_of_group * columns_of_chunk;
        matrix::begin_products();
        plane == planes - 1 ? add_step<bytes, true>(sums, left, right)
                            : add_step<bytes, false>(sums, left, right);
        matrix::end_products();
        // While these are under way, those of the step before are done.
        matrix::await_products<1>();
        if (!is_first) barriers.leave(before);
        before = place;
        place.advance(stages);
      }
      matrix::await_products<0>();
      barriers.leave(before);
      write_sums<bytes>(sums, product, first_row, plane == 1, adds, q, join);
      adds = true;
    }
  }
  barriers.finish();
}

template <unsigned bytes, unsigned planes>
void launch_product(const Launcher& launcher, const SplitProduct& product, unsigned units) {
  const unsigned cluster = blocks_of_cluster(product.rows);
  launch_as({.grid = {blocks_of(product.rows), product.part.tiles, units},
             .block = {threads},
             .shared_bytes = matrix::ClusterStages<1>::bytes + stages * stage_bytes(bytes),
             .cluster = cluster},
            "multiply_matrix", launcher.stream,
            cluster == 2 ? split_product_kernel<bytes, planes, 2> : split_product_kernel<bytes, planes, 1>,
            product, launcher.tables->moduli());
}

template <unsigned bytes>
void split_and_multiply(const Launcher& launcher, const ConstPolyView& in, const SplitProduct& product,
                        unsigned planes, unsigned units) {
  launch("multiply_matrix", launcher.stream, split_kernel<bytes>,
         {product.part.steps, product.part.tiles, units}, {chunks_of_step * 32}, 0,
         reinterpret_cast<uint4*>(const_cast<std::uint8_t*>(product.split)), device_view(in), product.part);
  planes == 1 ? launch_product<bytes, 1>(launcher, product, units)
              : launch_product<bytes, 2>(launcher, product, units);
}

}  // namespace

bool has_warpgroups() {
#if defined(HEMERA_CUDA_WARPGROUPS) || defined(HEMERA_CUDA_EMULATION)
  return true;
#else
  return false;
#endif
}

std::size_t matrix_bytes_of_warpgroups(const IntegerMatrixView& w) {
  return std::size_t{blocks_of(w.rows)} * steps_of(w.columns) * plane_bytes *
         static_cast<std::size_t>(w.bytes);
}

std::size_t split_bytes_of_warpgroups(const PolyShape& shape, std::size_t degree, std::size_t columns,
                                      const RnsBase& base, std::size_t most) {
  std::size_t all = 0, least = 0;
  matrix::for_each_kernel(
      shape, base, [&](std::size_t, std::size_t limbs, std::size_t, std::size_t components, unsigned bytes) {
        const std::size_t tile = std::size_t{tile_bytes(bytes)} * steps_of(columns);
        least = std::max(least, tile);
        all = std::max(all, tile * (degree / entries_of_tile) * limbs * components);
      });
  return std::min(all, std::max(least, most));
}

void multiply_matrix_by_warpgroups(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, std::byte* packed, std::span<std::byte> split,
                                   std::size_t columns_per_sum, const RnsBase& base) {
  const auto rows = static_cast<unsigned>(w.rows), columns = static_cast<unsigned>(w.columns);
  const auto planes = static_cast<unsigned>(w.bytes);
  const unsigned steps = steps_of(w.columns), all_tiles = launcher.degree() / entries_of_tile;
  launch("multiply_matrix", launcher.stream, planes == 1 ? pack_rows_kernel<1> : pack_rows_kernel<2>,
         {blocks_of(w.rows) * steps}, {rows_of_block * chunks_of_step / 2}, 0,
         reinterpret_cast<uint4*>(packed), reinterpret_cast<const std::uint8_t*>(w.data), rows, columns,
         steps);
  matrix::for_each_kernel(
      out.shape, base,
      [&](std::size_t limb, std::size_t limbs, std::size_t component, std::size_t components,
          unsigned bytes) {
        const std::size_t held = split.size() / (std::size_t{tile_bytes(bytes)} * steps);
        const auto tiles = static_cast<unsigned>(std::min<std::size_t>(held, all_tiles));
        const auto units = static_cast<unsigned>(std::min(held / tiles, components * limbs));
        SplitProduct product{
            .out = device_view(out.components(component, components).limbs(limb, limbs)),
            .matrix = reinterpret_cast<const std::uint8_t*>(packed),
            .split = reinterpret_cast<const std::uint8_t*>(split.data()),
            .rows = rows,
            .steps_of_sum = static_cast<unsigned>(columns_per_sum / columns_of_step),
            .part = {.limbs = static_cast<unsigned>(limbs), .columns = columns, .steps = steps},
            .limbs = limb_moduli(base, limb, limbs)};
        const ConstPolyView from = in.components(component, components).limbs(limb, limbs);
        for (unsigned unit = 0; unit < components * limbs; unit += units) {
          for (unsigned tile = 0; tile < all_tiles; tile += tiles) {
            product.part.first_unit = unit;
            product.part.first_tile = tile;
            product.part.tiles = std::min(tiles, all_tiles - tile);
            const auto together = std::min(units, static_cast<unsigned>(components * limbs) - unit);
            matrix::with_bytes(bytes, [&](auto count) {
              split_and_multiply<count>(launcher, from, product, planes, together);
            });
          }
        }
      });
}

}  // namespace hemera::poly::cuda
