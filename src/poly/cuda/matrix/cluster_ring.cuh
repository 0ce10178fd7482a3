// Stages of shared memory that a warp fills by bulk copies, in turn, ahead of the warps that read them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "poly/cuda/matrix/cluster_barrier.cuh"
#include "poly/cuda/stages.cuh"

namespace hemera::poly::cuda::matrix {

/// A ring of stages of the same size. Two blocks of a cluster may share it: both have the same bytes, of
/// which each brings half to both. So a stage is empty when the readers of both have left it.
class ClusterRing {
 public:
  static constexpr unsigned most_stages = 16;
  static constexpr unsigned barrier_bytes = 2 * most_stages * ClusterBarrier::bytes;

  /// `barriers`: barrier_bytes of shared memory. `first`: the stages' place in it. `distance`: 0, or 1 or 2,
  /// the bit in which the ranks of those that share it differ.
  __device__ __forceinline__ ClusterRing(unsigned char* barriers, unsigned char* first, unsigned stages,
                                         unsigned bytes, unsigned distance)
      : barriers_(barriers), first_(first), stages_(stages), bytes_(bytes), distance_(distance) {}

  /// By one thread of the block, before the cluster meets. `readers`: the block's warps that read a stage.
  __device__ __forceinline__ void begin(unsigned readers) const {
    for (unsigned stage = 0; stage < stages_; ++stage) {
      full(stage).begin(1);
      empty(stage).begin(distance_ != 0 ? 2 * readers : readers);
    }
  }

  /// By one lane of the filling warp: waits until the stage is empty, and asks for its bytes.
  __device__ __forceinline__ void fill(StagePlace& place, const unsigned char* from) const {
    empty(place.stage).wait(place.round ^ 1);
    const ClusterBarrier barrier = full(place.stage);
    unsigned char* const to = first_ + place.stage * bytes_;
    barrier.expect(bytes_);
    if (distance_ != 0) {
      const unsigned rank = cluster_rank(), begin = (rank & distance_) != 0 ? bytes_ / 2 : 0;
      barrier.copy_to_both(to + begin, from + begin, bytes_ / 2, rank ^ distance_);
    } else {
      barrier.copy(to, from, bytes_);
    }
    place.advance(stages_);
  }

  /// By all lanes of the reading warps: the bytes of a stage, when they are there.
  __device__ __forceinline__ const unsigned char* wait(const StagePlace& place) const {
    full(place.stage).wait(place.round);
    return first_ + place.stage * bytes_;
  }
  /// By all lanes of a reading warp that has what it needs.
  __device__ __forceinline__ void leave(const StagePlace& place) const {
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    if (distance_ != 0) {
      if (lane < 2) empty(place.stage).arrive_at(cluster_rank() ^ lane * distance_);
    } else if (lane == 0) {
      empty(place.stage).arrive();
    }
  }
  __device__ __forceinline__ void advance(StagePlace& place, unsigned by = 1) const {
    for (place.stage += by; place.stage >= stages_; place.stage -= stages_) place.round ^= 1;
  }

 private:
  [[nodiscard]] __device__ __forceinline__ ClusterBarrier full(unsigned stage) const {
    return ClusterBarrier(barriers_ + stage * ClusterBarrier::bytes);
  }
  [[nodiscard]] __device__ __forceinline__ ClusterBarrier empty(unsigned stage) const {
    return ClusterBarrier(barriers_ + (most_stages + stage) * ClusterBarrier::bytes);
  }

  unsigned char* barriers_;
  unsigned char* first_;
  unsigned stages_, bytes_, distance_;
};

}  // namespace hemera::poly::cuda::matrix
