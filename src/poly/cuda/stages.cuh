// Stages of shared memory that a warp of a block fills by bulk copies, ahead of the others' reading them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace hemera::poly::cuda {

/// The stage of a step, and how often the stages have been gone through, modulo 2.
struct StagePlace {
  unsigned stage = 0, round = 0;

  __device__ __forceinline__ void advance(unsigned stages) {
    if (++stage == stages) {
      stage = 0;
      round ^= 1;
    }
  }
};

/// Barriers of a block's stages: a stage is full when the copies that a warp of its own asked for have
/// arrived, and empty when all reading warps have left it. A bulk copy takes uniform registers, so the lanes
/// that ask take turns: that is why no reading warp does it. Every reading thread waits for every stage in
/// turn. Devices before compute capability 9.0 have no bulk copies: there the lanes copy, and all threads of
/// the block meet at every step.
class StageBarriers {
 public:
  static constexpr unsigned most_stages = 4;
  /// Bytes at the start of shared memory.
  static constexpr unsigned bytes = 128;

  /// Called by all threads of the block, of which `warps` warps read.
  __device__ __forceinline__ StageBarriers([[maybe_unused]] unsigned char* memory,
                                           [[maybe_unused]] unsigned warps)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      : full_(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory))), empty_(full_ + 8 * most_stages) {
    if (threadIdx.x == 0) {
      for (unsigned s = 0; s < 2 * most_stages; ++s) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full_ + 8 * s),
                     "r"(s < most_stages ? 1 : warps)
                     : "memory");
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }
#else
  {
  }
#endif

  /// Called by a lane of the asking warp: asks for `count` bytes, a multiple of 16, to an address of the
  /// stage. `once`: nobody else will read them soon.
  __device__ __forceinline__ void copy([[maybe_unused]] unsigned stage, void* to, const void* from,
                                       unsigned count, [[maybe_unused]] bool once) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto target = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    if (once) {
      std::uint64_t policy;
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
          "[%3], %4;" ::"r"(target),
          "l"(from), "r"(count), "r"(full_ + 8 * stage), "l"(policy)
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              target),
          "l"(from), "r"(count), "r"(full_ + 8 * stage)
          : "memory");
    }
#else
    for (unsigned i = 0; i < count / 16; ++i) static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
#endif
  }
  /// Called by all lanes of the asking warp after their copies to the stage. `count`: its bytes.
  __device__ __forceinline__ void end_copies([[maybe_unused]] unsigned stage,
                                             [[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const unsigned all = __reduce_add_sync(0xffffffffU, count);
    if (threadIdx.x % 32 == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full_ + 8 * stage), "r"(all)
                   : "memory");
    }
#endif
  }

  /// Called by all reading threads.
  __device__ __forceinline__ void wait_full([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait(full_ + 8 * place.stage, place.round);
#else
    __syncthreads();
#endif
  }
  /// Called by all lanes of the asking warp, for every step in turn: the next copies may take the stage of
  /// the step before, when that is empty.
  __device__ __forceinline__ void keep_step() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
    __syncthreads();
#endif
  }
  /// Called by all lanes of the asking warp: waits until the stage has been left.
  __device__ __forceinline__ void wait_empty([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait(empty_ + 8 * place.stage, place.round);
#endif
  }
  /// Called by all lanes of a reading warp that has what it needs.
  __device__ __forceinline__ void leave([[maybe_unused]] const StagePlace& place) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty_ + 8 * place.stage) : "memory");
    }
#endif
  }

 private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
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

}  // namespace hemera::poly::cuda
