// Products of bytes by clusters of two blocks that take one job after the other: a lane of a block asks for
// bytes, ahead into the next job, which two warpgroups multiply.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/cluster_jobs.cuh"
#include "poly/cuda/matrix/cluster_ring.cuh"
#include "poly/cuda/matrix/split_layout.cuh"
#include "poly/cuda/matrix/warpgroup.cuh"

namespace hemera::poly::cuda::matrix {

constexpr unsigned cluster_threads = (warps + warps_of_group) * 32;  // and a group of which a lane asks
// A thread's registers: 168 at first, of 64 K that 384 threads share.
constexpr unsigned registers_of_products = 216;
constexpr unsigned registers_of_asking = 72;

/// The operands of clusters: a matrix, [block of rows][kind][plane][step] of block_bytes, and tiles,
/// [unit][kind][tile][step] of as many rows of bytes as a product is wide.
struct ClusterProduct {
  const std::uint8_t* matrix;
  const std::uint8_t* split;
  unsigned planes;  // bytes of an integer, of each kind
  SplitPart part;
  Jobs jobs;
};

/// The input of the two groups: steps of one job after the other.
template <unsigned width>
class ClusterSteps {
 public:
  static constexpr unsigned entry_bytes = width * columns_of_step;
  using Ring = ClusterRing<entry_bytes, block_bytes>;
  using Sums = int[width / 2];

  /// Called by all threads of the cluster. `warp`: one number for a warp, which the compiler must know for
  /// asynchronous products.
  __device__ __forceinline__ ClusterSteps(const Jobs& jobs, unsigned warp)
      : ring_(dynamic_shared<unsigned char>(), warps, jobs.row_ranks == 2),
        first_row_(warp / warps_of_group * rows_of_group) {}

  /// Called by one lane: asks for the bytes of a job.
  __device__ __forceinline__ void ask(const ClusterProduct& product, const Job& job) {
    const unsigned steps = product.part.steps;
    const std::uint8_t* const entries = product.split + std::size_t{job.place} * steps * entry_bytes;
    const std::uint8_t* rows = product.matrix + (std::size_t{job.block} * product.part.kinds + job.kind) *
                                                    product.planes * steps * block_bytes;
    for (unsigned plane = 0; plane < product.planes; ++plane) {
      for (unsigned step = 0; step < steps; ++step, rows += block_bytes) {
        ring_.fill(place_, entries + std::size_t{step} * entry_bytes, rows);
      }
    }
  }

  /// Called by a group: adds the products of the next steps, of signed bytes of the matrix or unsigned ones.
  template <bool is_signed>
  __device__ __forceinline__ void add(Sums& sums, unsigned steps) {
    StagePlace before;
    for (unsigned step = 0; step < steps; ++step) {
      const unsigned char* const entries = ring_.wait(place_);
      const unsigned char* const rows = entries + entry_bytes + first_row_ * columns_of_chunk;
      begin_products();
#pragma unroll
      for (unsigned chunk = 0; chunk < chunks_of_step; chunk += columns_of_product / columns_of_chunk) {
        constexpr unsigned row_chunk = rows_of_block * columns_of_chunk,
                           chunk_bytes = width * columns_of_chunk;
        multiply_rows<width, is_signed>(sums, {rows + chunk * row_chunk, row_chunk},
                                        {entries + chunk * chunk_bytes, chunk_bytes});
      }
      end_products();
      // While these are under way, those of the step before are done.
      await_products<1>();
      if (step > 0) ring_.leave(before);
      before = place_;
      place_.advance(Ring::stages);
    }
    await_products<0>();
    ring_.leave(before);
  }

 private:
  static constexpr unsigned columns_of_product = 32;

  Ring ring_;
  unsigned first_row_;
  StagePlace place_;
};

/// All of a kernel: multiply(job, warp, steps) by the groups' warps for each job.
template <unsigned width, typename Multiply>
__device__ __forceinline__ void run_clusters(const ClusterProduct& product, const Multiply& multiply) {
  const unsigned warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  ClusterSteps<width> steps(product.jobs, warp);
  begin_kernel();
  const auto for_each_job = [&](const auto& run) {
    for (unsigned number = blockIdx.x / 2; number < product.jobs.count; number += gridDim.x / 2) {
      run(Job(product.part, product.jobs, number));
    }
  };
  if (warp < warps) {
    take_registers<registers_of_products>();
    for_each_job([&](const Job& job) { multiply(job, warp, steps); });
  } else {
    leave_registers<registers_of_asking>();
    if (threadIdx.x == warps * 32) for_each_job([&](const Job& job) { steps.ask(product, job); });
  }
  meet_cluster();
}

/// Launches such a kernel: as many clusters as the device runs at a time, whose processors of graphics are
/// whole numbers of two multiprocessors.
template <unsigned width, typename... Parameters>
void launch_clusters_of_jobs(const Launcher& launcher, const Jobs& jobs, std::size_t multiprocessors,
                             void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  const unsigned clusters = std::clamp(static_cast<unsigned>(multiprocessors / 2), 1U, jobs.count);
  launch_as({.grid = {2 * clusters},
             .block = {cluster_threads},
             .shared_bytes = ClusterSteps<width>::Ring::bytes,
             .cluster = 2},
            "multiply_matrix", launcher.stream, kernel, arguments...);
}

}  // namespace hemera::poly::cuda::matrix
