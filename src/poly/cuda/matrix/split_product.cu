// Matrices of integers times rows of residues by warpgroups, from shared memory: words become bytes in memory
// first (split_words.cu), so that a bulk copy brings a step's. Sums become residues in registers. Clusters of
// two blocks, as many as the device runs at a time, take one job after the other.
#include <algorithm>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/cluster_ring.cuh"
#include "poly/cuda/matrix/join.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/split_jobs.cuh"
#include "poly/cuda/matrix/warpgroup.cuh"

namespace hemera::poly::cuda {
namespace {

using namespace matrix;
using arith::Modulus;

constexpr unsigned warps_of_group = 4;
constexpr unsigned warps = groups * warps_of_group;  // and a group of which one asks for bytes
constexpr unsigned threads = (warps + warps_of_group) * 32;
// A thread's registers: 168 at first, of 64 K that 384 threads share.
constexpr unsigned registers_of_products = 216;
constexpr unsigned registers_of_asking = 72;
constexpr unsigned columns_of_product = 32;

// What a launch multiplies.
struct SplitProduct {
  DeviceView out;
  const std::uint8_t* matrix;
  const std::uint8_t* split;
  unsigned rows, steps_of_sum;
  SplitPart part;
  Jobs jobs;
  LimbModuli limbs;
};

// The rings of a block, and whose turn it is.
static_assert(2 * ClusterRing::barrier_bytes + groups * ClusterBarrier::bytes <= barrier_bytes);
struct Stages {
  ClusterRing entries, rows;
  unsigned char* turns;

  __device__ __forceinline__ Stages(unsigned char* shared, const Jobs& jobs, unsigned tile)
      : entries(shared, shared + barrier_bytes, jobs.entry_stages, tile, jobs.row_ranks - 1),
        rows(shared + ClusterRing::barrier_bytes, shared + barrier_bytes + jobs.entry_stages * tile,
             jobs.row_stages, group_bytes, jobs.tile_ranks == 1 ? 0 : jobs.row_ranks),
        turns(shared + 2 * ClusterRing::barrier_bytes) {
    if (threadIdx.x == 0) {
      entries.begin(warps);
      rows.begin(warps_of_group);
      for (unsigned group = 0; group < groups; ++group) turn_of(group).begin(warps_of_group);
    }
    meet_cluster();
  }
  [[nodiscard]] __device__ __forceinline__ ClusterBarrier turn_of(unsigned group) const {
    return ClusterBarrier(turns + group * ClusterBarrier::bytes);
  }
};

// Calls run(first step, end) for each sum of a kind of the integers' bytes.
template <typename Run>
__device__ __forceinline__ void for_each_sum(const SplitProduct& product, const Run& run) {
  for (unsigned step = 0; step < product.part.steps; step += product.steps_of_sum) {
    run(step, min(step + product.steps_of_sum, product.part.steps));
  }
}

// By one lane: asks for what the groups read, in their order. Groups whose entries stay take turns, others go
// through the steps together.
template <unsigned bytes, unsigned planes>
__device__ __forceinline__ void ask(const SplitProduct& product, const Stages& stages) {
  const bool stay = product.jobs.entries_stay;
  const unsigned steps = product.part.steps;
  StagePlace entries, rows;
  const unsigned blocks = product.jobs.row_ranks * product.jobs.tile_ranks;
  for (unsigned number = blockIdx.x / blocks; number < product.jobs.count; number += gridDim.x / blocks) {
    const Job job(product.part, product.jobs, number);
    const std::uint8_t* const split =
        product.split + (std::size_t{job.unit} * product.part.tiles + job.tile) * steps * tile_bytes(bytes);
    for (unsigned block = job.first_block; block < job.end_block; ++block) {
      for (unsigned plane = 0; plane < planes; ++plane) {
        const std::uint8_t* const matrix =
            product.matrix + (std::size_t{block} * groups * planes + plane) * steps * group_bytes;
        const auto fill_rows = [&](unsigned group, unsigned step) {
          stages.rows.fill(rows, matrix + (group * planes * steps + step) * std::size_t{group_bytes});
        };
        const auto fill_entries = [&](unsigned step) {
          stages.entries.fill(entries, split + std::size_t{step} * tile_bytes(bytes));
        };
        for_each_sum(product, [&](unsigned first, unsigned end) {
          if (stay) {
            for (unsigned group = 0; group < groups; ++group) {
              for (unsigned step = first; step < end; ++step) {
                if (block == job.first_block && plane == 0 && group == 0) fill_entries(step);
                fill_rows(group, step);
              }
            }
          } else {
            for (unsigned step = first; step < end; ++step) {
              fill_entries(step);
              for (unsigned group = 0; group < groups; ++group) fill_rows(group, step);
            }
          }
        });
      }
    }
  }
}

// A thread's sums of products of bytes: [weight][eight entries][element], as multiply_rows has them.
constexpr unsigned sums_of_weight = entries_of_tile / 2;
using Residues = std::uint64_t[sums_of_weight];

// Adds a step's products.
template <unsigned bytes, bool is_signed>
__device__ __forceinline__ void add_step(int (&sums)[bytes * sums_of_weight], const unsigned char* left,
                                         const unsigned char* right) {
  constexpr unsigned columns = bytes * entries_of_tile;
  constexpr unsigned left_chunk = rows_of_group * columns_of_chunk, right_chunk = columns * columns_of_chunk;
#pragma unroll
  for (unsigned chunk = 0; chunk < chunks_of_step; chunk += columns_of_product / columns_of_chunk) {
    multiply_rows<columns, is_signed>(sums, {left + chunk * left_chunk, left_chunk},
                                      {right + chunk * right_chunk, right_chunk});
  }
}

// Adds sums to residues, those of the high bytes times 256.
template <unsigned bytes, bool are_high>
__device__ __forceinline__ void add_sums(Residues& residues, const int (&sums)[bytes * sums_of_weight],
                                         const Join<bytes>& join) {
  constexpr unsigned count = are_high ? bytes + 1 : bytes;
#pragma unroll
  for (unsigned i = 0; i < sums_of_weight; ++i) {
    const auto sum = [&](unsigned weight) {
      if constexpr (!are_high) return sums[weight * sums_of_weight + i];
      return weight == 0 ? 0 : sums[(weight - 1) * sums_of_weight + i];
    };
    residues[i] = join.template operator()<count>(sum, residues[i]);
  }
}

// `first_row`: of the warp.
__device__ __forceinline__ void write(const Residues& residues, const SplitProduct& product, const Job& job,
                                      unsigned first_row) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned entry = (product.part.first_tile + job.tile) * entries_of_tile + lane % 4 * 2;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = first_row + 8 * half + lane / 4;
    if (row >= product.rows || !job.writes) break;
    std::uint64_t* const to =
        product.out.limb(row, product.part.component(job.unit), product.part.limb(job.unit)) + entry;
#pragma unroll
    for (unsigned eight = 0; eight < entries_of_tile / 8; ++eight) {
      *reinterpret_cast<ulonglong2*>(to + 8 * eight) =
          make_ulonglong2(residues[4 * eight + 2 * half], residues[4 * eight + 2 * half + 1]);
    }
  }
}

// By a group of warps: multiplies. Where entries stay, one group multiplies while the other one joins sums.
template <unsigned bytes, unsigned planes>
__device__ __forceinline__ void multiply(const SplitProduct& product, const Modulus* moduli,
                                         const Stages& stages, unsigned warp) {
  const bool stay = product.jobs.entries_stay;
  const unsigned group = warp / warps_of_group, lane = threadIdx.x % 32;
  const ClusterBarrier own_turn = stages.turn_of(group), next_turn = stages.turn_of(1 - group);
  unsigned turn = 1 - group;  // the parity of the other's; the first group need not wait for its first one
  StagePlace entries, rows;
  const unsigned blocks = product.jobs.row_ranks * product.jobs.tile_ranks;
  for (unsigned number = blockIdx.x / blocks; number < product.jobs.count; number += gridDim.x / blocks) {
    const Job job(product.part, product.jobs, number);
    const Modulus q = moduli[product.limbs.ring_index[product.part.limb(job.unit)]];
    const Join<bytes> join(q);
    for (unsigned block = job.first_block; block < job.end_block; ++block) {
      Residues residues = {};
      const auto add_plane = [&]<bool is_last>(std::bool_constant<is_last>) {
        const bool leaves_entries = !stay || (is_last && block + 1 == job.end_block);
        StagePlace right = entries;
        for_each_sum(product, [&](unsigned step, unsigned end) {
          StagePlace left = rows, left_before, right_before;
          stages.rows.advance(left, stay ? group * (end - step) : group);
          stages.rows.advance(rows, groups * (end - step));
          if (stay) own_turn.wait(turn);
          int sums[bytes * sums_of_weight] = {};
          for (bool is_first = true; step < end; ++step, is_first = false) {
            const unsigned char* const entry_bytes = stages.entries.wait(right);
            const unsigned char* const row_bytes = stages.rows.wait(left);
            begin_products();
            add_step<bytes, is_last>(sums, row_bytes, entry_bytes);
            end_products();
            // While these are under way, those of the step before are done.
            await_products<1>();
            if (!is_first) {
              stages.rows.leave(left_before);
              if (leaves_entries) stages.entries.leave(right_before);
            }
            left_before = left;
            right_before = right;
            stages.rows.advance(left, stay ? 1 : groups);
            stages.entries.advance(right);
          }
          if (stay) {
            __syncwarp();
            if (lane == 0) next_turn.arrive();
            turn ^= 1;
          }
          await_products<0>();
          stages.rows.leave(left_before);
          if (leaves_entries) stages.entries.leave(right_before);
          add_sums<bytes, is_last && planes == 2>(residues, sums, join);
        });
        if (leaves_entries) entries = right;
      };
      if constexpr (planes == 2) add_plane(std::false_type{});
      add_plane(std::true_type{});
      write(residues, product, job,
            block * rows_of_block + group * rows_of_group +
                warp % warps_of_group * (rows_of_group / warps_of_group));
    }
  }
}

// Residues of so many bytes. The last group asks for the others' bytes.
template <unsigned bytes, unsigned planes>
__global__ void __launch_bounds__(threads, 1)
    split_product_kernel(const __grid_constant__ SplitProduct product, const Modulus* moduli) {
  const Stages stages(dynamic_shared<unsigned char>(), product.jobs, tile_bytes(bytes));
  begin_kernel();
  // One number for a warp, which the compiler must know for asynchronous products.
  const unsigned warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  if (warp < warps) {
    take_registers<registers_of_products>();
    multiply<bytes, planes>(product, moduli, stages, warp);
  } else {
    leave_registers<registers_of_asking>();
    if (threadIdx.x == warps * 32) ask<bytes, planes>(product, stages);
  }
  meet_cluster();
}

template <unsigned bytes>
void launch_product(const Launcher& launcher, const SplitProduct& product, unsigned planes,
                    std::size_t multiprocessors) {
  const unsigned blocks = product.jobs.blocks_of_cluster();
  const auto kernel = planes == 1 ? split_product_kernel<bytes, 1> : split_product_kernel<bytes, 2>;
  LaunchShape shape{.grid = {blocks}, .block = {threads}, .shared_bytes = shared_bytes, .cluster = blocks};
  // Processors of graphics are whole numbers of two multiprocessors, not of four.
  const unsigned clusters = blocks == 2 ? static_cast<unsigned>(multiprocessors / 2)
                                        : clusters_at_a_time("multiply_matrix", shape, kernel);
  shape.grid.x *= std::clamp(clusters, 1U, product.jobs.count);
  launch_as(shape, "multiply_matrix", launcher.stream, kernel, product, launcher.tables->moduli());
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
  return std::size_t{packed_blocks_of(w.rows)} * groups * steps_of(w.columns) * group_bytes *
         static_cast<std::size_t>(w.bytes);
}

std::size_t split_bytes_of_warpgroups(const PolyShape& shape, std::size_t degree, std::size_t columns,
                                      const RnsBase& base, std::size_t most) {
  std::size_t all = 0, least = 0;
  for_each_kernel(shape, base,
                  [&](std::size_t, std::size_t limbs, std::size_t, std::size_t components, unsigned bytes) {
                    const std::size_t tile = std::size_t{tile_bytes(bytes)} * steps_of(columns);
                    least = std::max(least, tile);
                    all = std::max(all, tile * (degree / entries_of_tile) * limbs * components);
                  });
  return std::min(all, std::max(least, most));
}

void multiply_matrix_by_warpgroups(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, std::byte* packed, std::span<std::byte> split,
                                   std::size_t columns_per_sum, const MatrixSizes& sizes,
                                   const RnsBase& base) {
  const unsigned steps = steps_of(w.columns), all_tiles = launcher.degree() / entries_of_tile;
  const auto planes = static_cast<unsigned>(w.bytes);
  pack_rows(launcher, packed, w);
  for_each_kernel(out.shape, base,
                  [&](std::size_t limb, std::size_t limbs, std::size_t component, std::size_t components,
                      unsigned bytes) {
                    const std::size_t held = split.size() / (std::size_t{tile_bytes(bytes)} * steps);
                    // Launches of the same size.
                    const std::size_t of_unit = (all_tiles + held - 1) / held;
                    const auto tiles = static_cast<unsigned>((all_tiles + of_unit - 1) / of_unit);
                    const auto all_units = static_cast<unsigned>(components * limbs);
                    const auto units = static_cast<unsigned>(std::min<std::size_t>(held / tiles, all_units));
                    SplitProduct product{
                        .out = device_view(out.components(component, components).limbs(limb, limbs)),
                        .matrix = reinterpret_cast<const std::uint8_t*>(packed),
                        .split = reinterpret_cast<const std::uint8_t*>(split.data()),
                        .rows = static_cast<unsigned>(w.rows),
                        .steps_of_sum = static_cast<unsigned>(columns_per_sum / columns_of_step),
                        .part = {.limbs = static_cast<unsigned>(limbs),
                                 .columns = static_cast<unsigned>(w.columns),
                                 .steps = steps},
                        .jobs = {},
                        .limbs = limb_moduli(base, limb, limbs)};
                    const ConstPolyView from = in.components(component, components).limbs(limb, limbs);
                    for (unsigned unit = 0; unit < all_units; unit += units) {
                      for (unsigned tile = 0; tile < all_tiles; tile += tiles) {
                        product.part.first_unit = unit;
                        product.part.units = std::min(units, all_units - unit);
                        product.part.first_tile = tile;
                        product.part.tiles = std::min(tiles, all_tiles - tile);
                        product.jobs = jobs_of(product.part, blocks_of(w.rows), bytes, planes, sizes);
                        split_words(launcher, split.data(), from, product.part, bytes);
                        with_bytes(bytes, [&](auto count) {
                          launch_product<count>(launcher, product, planes, sizes.multiprocessors);
                        });
                      }
                    }
                  });
}

}  // namespace hemera::poly::cuda
