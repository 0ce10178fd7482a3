// Matrices of integers times rows of residues by warpgroups, from shared memory: words become bytes in memory
// first (split_words.cu), so that a bulk copy brings a step's. Sums become residues in registers.
#include <algorithm>

#include "poly/cuda/matrix/cluster_product.cuh"
#include "poly/cuda/matrix/join.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"

namespace hemera::poly::cuda {
namespace {

using namespace matrix;
using arith::Modulus;

constexpr unsigned width_of(unsigned bytes) { return bytes * entries_of_tile; }

// The operands of a launch.
struct SplitProduct {
  ClusterProduct factors;
  DeviceView out;
  unsigned rows, steps_of_sum;
  LimbModuli limbs;
};

// A thread's sums of products of bytes: [weight][eight entries][element], as multiply_rows has them.
constexpr unsigned sums_of_weight = entries_of_tile / 2;
using Residues = std::uint64_t[sums_of_weight];

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

__device__ __forceinline__ void write(const Residues& residues, const SplitProduct& product, const Job& job,
                                      unsigned warp) {
  const SplitPart& part = product.factors.part;
  const unsigned lane = threadIdx.x % 32;
  const unsigned entry = (part.first_tile + job.tile) * entries_of_tile + lane % 4 * 2;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = job.block * rows_of_block + 16 * warp + 8 * half + lane / 4;
    if (row >= product.rows || !job.writes) break;
    std::uint64_t* const to = product.out.limb(row, part.component(job.unit), part.limb(job.unit)) + entry;
#pragma unroll
    for (unsigned eight = 0; eight < entries_of_tile / 8; ++eight) {
      *reinterpret_cast<ulonglong2*>(to + 8 * eight) =
          make_ulonglong2(residues[4 * eight + 2 * half], residues[4 * eight + 2 * half + 1]);
    }
  }
}

// Residues of this many bytes, integers of `planes`.
template <unsigned bytes, unsigned planes>
__global__ void __launch_bounds__(cluster_threads, 1)
    split_product_kernel(const __grid_constant__ SplitProduct product, const Modulus* moduli) {
  constexpr unsigned width = width_of(bytes);
  const SplitPart& part = product.factors.part;
  run_clusters<width>(product.factors, [&](const Job& job, unsigned warp, ClusterSteps<width>& steps) {
    const Modulus q = moduli[product.limbs.ring_index[part.limb(job.unit)]];
    const Join<bytes> join(q);
    Residues residues = {};
    const auto add_plane = [&]<bool is_last>(std::bool_constant<is_last>) {
      for (unsigned step = 0; step < part.steps; step += product.steps_of_sum) {
        typename ClusterSteps<width>::Sums sums = {};
        steps.template add<is_last>(sums, min(product.steps_of_sum, part.steps - step));
        add_sums<bytes, is_last && planes == 2>(residues, sums, join);
      }
    };
    if constexpr (planes == 2) add_plane(std::false_type{});
    add_plane(std::true_type{});
    write(residues, product, job, warp);
  });
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
  return std::size_t{blocks_of(w.rows)} * steps_of(w.columns) * block_bytes *
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
                                   std::size_t columns_per_sum, std::size_t multiprocessors,
                                   const RnsBase& base) {
  const unsigned steps = steps_of(w.columns);
  pack_rows(launcher, packed, w);
  for_each_kernel(
      out.shape, base,
      [&](std::size_t limb, std::size_t limbs, std::size_t component, std::size_t components,
          unsigned bytes) {
        SplitProduct product{.factors = {.matrix = reinterpret_cast<const std::uint8_t*>(packed),
                                         .split = reinterpret_cast<const std::uint8_t*>(split.data()),
                                         .planes = static_cast<unsigned>(w.bytes),
                                         .part = {},
                                         .jobs = {}},
                             .out = device_view(out.components(component, components).limbs(limb, limbs)),
                             .rows = static_cast<unsigned>(w.rows),
                             .steps_of_sum = static_cast<unsigned>(columns_per_sum / columns_of_step),
                             .limbs = limb_moduli(base, limb, limbs)};
        const ConstPolyView from = in.components(component, components).limbs(limb, limbs);
        const SplitPart whole{.limbs = static_cast<unsigned>(limbs),
                              .columns = static_cast<unsigned>(w.columns),
                              .steps = steps};
        for_each_part(whole, launcher.degree() / entries_of_tile, components * limbs,
                      split.size() / (std::size_t{tile_bytes(bytes)} * steps), [&](const SplitPart& part) {
                        split_words(launcher, split.data(), from, part, bytes);
                        product.factors.part = part;
                        product.factors.jobs = jobs_of(part, blocks_of(w.rows));
                        with_bytes(bytes, [&](auto count) {
                          launch_clusters_of_jobs<width_of(count)>(
                              launcher, product.factors.jobs, multiprocessors,
                              w.bytes == 1 ? split_product_kernel<count, 1> : split_product_kernel<count, 2>,
                              product, launcher.tables->moduli());
                        });
                      });
      });
}

}  // namespace hemera::poly::cuda
