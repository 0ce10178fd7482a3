// Stages of shared memory that a lane fills by bulk copies, in turn, ahead of the warps that read them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "poly/cuda/matrix/cluster_barrier.cuh"
#include "poly/cuda/stages.cuh"

namespace hemera::poly::cuda::matrix {

/// A ring of stages, each of a step's bytes of entries, and of rows behind them. The two blocks of a cluster
/// have the same bytes of one factor, of which each brings half to both. So a stage is empty when the readers
/// of both have left it. Warps have read by asynchronous products alone, and copies write what is next: so no
/// barrier has the scope of the cluster, for which each arrival would wait for all that the warp has written,
/// and each wait empty the first level of the cache.
template <unsigned entry_bytes, unsigned row_bytes>
class ClusterRing {
  static constexpr unsigned most_bytes = 227 * 1024, most_stages = 8;
  static constexpr unsigned barrier_bytes = 2 * most_stages * ClusterBarrier::bytes;
  static constexpr unsigned stage_bytes = entry_bytes + row_bytes;

 public:
  static constexpr unsigned stages = std::min(most_stages, (most_bytes - barrier_bytes) / stage_bytes);
  /// Bytes of shared memory, from its start.
  static constexpr unsigned bytes = barrier_bytes + stages * stage_bytes;

  /// Called by all threads of the cluster. `readers`: the block's warps that read a stage. `shares_entries`:
  /// the blocks have the same entries, otherwise the same rows.
  __device__ __forceinline__ ClusterRing(unsigned char* shared, unsigned readers, bool shares_entries)
      : shared_(shared), shares_entries_(shares_entries) {
    if (threadIdx.x == 0) {
      for (unsigned stage = 0; stage < stages; ++stage) {
        full(stage).begin(1);
        empty(stage).begin(2 * readers);
      }
    }
    meet_cluster();
  }

  /// Called by one lane of the block: waits until the stage is empty, and asks for its bytes.
  __device__ __forceinline__ void fill(StagePlace& place, const unsigned char* entries,
                                       const unsigned char* rows) const {
    empty(place.stage).wait(place.round ^ 1);
    full(place.stage).expect(stage_bytes);
    unsigned char* const to = first_of(place.stage);
    if (shares_entries_) {
      copy_half<entry_bytes>(place.stage, to, entries);
      full(place.stage).copy(to + entry_bytes, rows, row_bytes);
    } else {
      full(place.stage).copy(to, entries, entry_bytes);
      copy_half<row_bytes>(place.stage, to + entry_bytes, rows);
    }
    place.advance(stages);
  }

  /// The entries' bytes of a stage, when all are there. Called by all lanes of the reading warps.
  __device__ __forceinline__ const unsigned char* wait(const StagePlace& place) const {
    full(place.stage).wait(place.round);
    return first_of(place.stage);
  }
  /// Called by all lanes of a reading warp that has what it needs.
  __device__ __forceinline__ void leave(const StagePlace& place) const {
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    if (lane < 2) empty(place.stage).arrive_at(lane);
  }

 private:
  [[nodiscard]] __device__ __forceinline__ ClusterBarrier full(unsigned stage) const {
    return ClusterBarrier(shared_ + stage * ClusterBarrier::bytes);
  }
  [[nodiscard]] __device__ __forceinline__ ClusterBarrier empty(unsigned stage) const {
    return ClusterBarrier(shared_ + (most_stages + stage) * ClusterBarrier::bytes);
  }
  [[nodiscard]] __device__ __forceinline__ unsigned char* first_of(unsigned stage) const {
    return shared_ + barrier_bytes + stage * stage_bytes;
  }
  template <unsigned count>
  __device__ __forceinline__ void copy_half(unsigned stage, unsigned char* to,
                                            const unsigned char* from) const {
    const unsigned begin = cluster_rank() * (count / 2);
    full(stage).copy_to_both(to + begin, from + begin, count / 2);
  }

  unsigned char* shared_;
  bool shares_entries_;
};

}  // namespace hemera::poly::cuda::matrix
