// Stages of shared memory of one block, or of two blocks of a cluster that go through the same steps and
// share what they read.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/stages.cuh"

namespace hemera::poly::cuda::matrix {

/// As StageBarriers, of `blocks` blocks, 1 or 2: what both read each brings by half, to both. So a stage is
/// empty when the reading warps of both have left it. All threads begin and end together (`finish`).
/// Warps have read by asynchronous products alone, and copies write what is next: so no scope is the cluster,
/// for which each arrival would wait for all that the warp has written, and each wait empty the first level.
template <unsigned blocks>
class ClusterStages {
 public:
  static constexpr unsigned most_stages = 8;
  /// At the start of shared memory.
  static constexpr unsigned bytes = 2 * most_stages * sizeof(std::uint64_t);

  /// By all threads of the blocks, of each of which `warps` warps read.
  __device__ __forceinline__ ClusterStages([[maybe_unused]] unsigned char* memory,
                                           [[maybe_unused]] unsigned warps)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      : full_(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory))), empty_(full_ + 8 * most_stages) {
    if (threadIdx.x == 0) {
      for (unsigned s = 0; s < 2 * most_stages; ++s) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full_ + 8 * s),
                     "r"(s < most_stages ? 1 : blocks * warps)
                     : "memory");
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet();
  }
#else
  {
  }
#endif

  /// By all threads, at their end: until no other block writes to this one's memory.
  __device__ __forceinline__ void finish() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (blocks > 1) meet();
#endif
  }

  /// By one lane of the asking warp: asks for `count` bytes, a multiple of 16, to an address of the stage.
  __device__ __forceinline__ void copy([[maybe_unused]] unsigned stage, void* to, const void* from,
                                       unsigned count) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address(to)),
        "l"(from), "r"(count), "r"(full_ + 8 * stage)
        : "memory");
#else
    for (unsigned i = 0; i < count / 16; ++i) static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
#endif
  }
  /// The same of what all blocks ask for: a multiple of 16 bytes for each. Where blocks can not write to each
  /// other quickly (PTX ISA, cp.async.bulk: multicast is for sm_90a), each brings all of it.
  __device__ __forceinline__ void copy_shared(unsigned stage, void* to, const void* from,
                                              unsigned count) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (blocks > 1) {
      const unsigned part = count / blocks, begin = part * cluster_rank();
      constexpr std::uint16_t all = (1U << blocks) - 1;
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
          "%2, "
          "[%3], %4;" ::"r"(address(to) + begin),
          "l"(static_cast<const unsigned char*>(from) + begin), "r"(part), "r"(full_ + 8 * stage), "h"(all)
          : "memory");
      return;
    }
#endif
    copy(stage, to, from, count);
  }
  /// By a lane of the asking warp, before or after the stage's copies: how many bytes they are in all.
  __device__ __forceinline__ void expect([[maybe_unused]] unsigned stage,
                                         [[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full_ + 8 * stage), "r"(count)
                 : "memory");
#endif
  }

  /// By all reading threads.
  __device__ __forceinline__ void wait_full([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait(full_ + 8 * place.stage, place.round);
#else
    __syncthreads();
#endif
  }
  /// By all lanes of the asking warp, for every step in turn: as StageBarriers.
  __device__ __forceinline__ void keep_step() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
    __syncthreads();
#endif
  }
  /// By all lanes of the asking warp: until the stage has been left.
  __device__ __forceinline__ void wait_empty([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait(empty_ + 8 * place.stage, place.round);
#endif
  }
  /// By all lanes of a reading warp that has what it needs.
  __device__ __forceinline__ void leave([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    if (threadIdx.x % 32 >= blocks) return;
    // A lane for each block.
    asm volatile(
        "{\n\t"
        ".reg .b32 other;\n\t"
        "mapa.shared::cluster.u32 other, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [other];\n\t"
        "}" ::"r"(empty_ + 8 * place.stage),
        "r"(threadIdx.x % 32)
        : "memory");
#endif
  }

 private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  static __device__ __forceinline__ std::uint32_t address(void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }
  static __device__ __forceinline__ void meet() {
    if constexpr (blocks == 1) {
      __syncthreads();
    } else {
      cluster_arrive();
      cluster_wait();
    }
  }
  static __device__ __forceinline__ void wait(std::uint32_t barrier, unsigned parity) {
    asm volatile(
        "{\n\t"
        ".reg .pred arrived;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n\t"
        "@!arrived bra again;\n\t"
        "}" ::"r"(barrier),
        "r"(parity)
        : "memory");
  }

  std::uint32_t full_, empty_;  // addresses in shared memory
#endif
};

}  // namespace hemera::poly::cuda::matrix
