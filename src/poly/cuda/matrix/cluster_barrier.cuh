// Barriers in the shared memory of a cluster of blocks, and bulk copies that complete their phases.
// Compute capability 9.0; elsewhere these functions do nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "poly/cuda/cluster/cluster.cuh"

namespace hemera::poly::cuda::matrix {

/// "mbarrier" of the PTX ISA, at a place of this block's shared memory. A phase ends when as many have
/// arrived as the barrier counts, and all bytes that were expected are there.
class ClusterBarrier {
 public:
  static constexpr unsigned bytes = 8;

#if defined(HEMERA_CUDA_EMULATION)
  __device__ __forceinline__ explicit ClusterBarrier(unsigned char* place)
      : state_(reinterpret_cast<emulation::PhaseBarrier*>(place)) {}
  __device__ __forceinline__ void begin(unsigned count) const { state_->begin(count); }
  __device__ __forceinline__ void arrive() const { state_->arrive(); }
  __device__ __forceinline__ void arrive_at(unsigned rank) const { shared_of(state_, rank)->arrive(); }
  __device__ __forceinline__ void expect(unsigned count) const { state_->expect(count); }
  __device__ __forceinline__ void wait(unsigned parity) const { state_->wait(parity); }
  __device__ __forceinline__ void copy(unsigned char* to, const unsigned char* from, unsigned count) const {
    std::copy_n(from, count, to);
    state_->complete(count);
  }
  __device__ __forceinline__ void copy_to_both(unsigned char* to, const unsigned char* from,
                                               unsigned count) const {
    for (const unsigned rank : {0U, 1U}) {
      std::copy_n(from, count, shared_of(to, rank));
      shared_of(state_, rank)->complete(count);
    }
  }

 private:
  emulation::PhaseBarrier* state_;
#else
  __device__ __forceinline__ explicit ClusterBarrier([[maybe_unused]] unsigned char* place)
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
      : address_(address(place))
#endif
  {
  }

  /// Before others know the barrier, by one thread: it counts this many arrivals a phase.
  __device__ __forceinline__ void begin([[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_), "r"(count) : "memory");
#endif
  }
  __device__ __forceinline__ void arrive() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_) : "memory");
#endif
  }
  /// Arrives at the barrier that block `rank` of the cluster has at this place.
  __device__ __forceinline__ void arrive_at([[maybe_unused]] unsigned rank) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile(
        "{\n\t"
        ".reg .b32 other;\n\t"
        "mapa.shared::cluster.u32 other, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [other];\n\t"
        "}" ::"r"(address_),
        "r"(rank)
        : "memory");
#endif
  }
  /// Arrives, and expects this many bytes of copies in this phase.
  __device__ __forceinline__ void expect([[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_), "r"(count)
                 : "memory");
#endif
  }
  /// Waits until the phase of this parity has ended: the first has parity 0, the one before it has ended.
  __device__ __forceinline__ void wait([[maybe_unused]] unsigned parity) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile(
        "{\n\t"
        ".reg .pred arrived;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n\t"
        "@!arrived bra again;\n\t"
        "}" ::"r"(address_),
        "r"(parity)
        : "memory");
#endif
  }

  /// Asks for `count` bytes, a multiple of 16, which complete the phase.
  __device__ __forceinline__ void copy([[maybe_unused]] unsigned char* to,
                                       [[maybe_unused]] const unsigned char* from,
                                       [[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address(to)),
        "l"(from), "r"(count), "r"(address_)
        : "memory");
#endif
  }
  /// The same to this place of both blocks of a cluster of two, both of whose barriers it completes.
  __device__ __forceinline__ void copy_to_both([[maybe_unused]] unsigned char* to,
                                               [[maybe_unused]] const unsigned char* from,
                                               [[maybe_unused]] unsigned count) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr std::uint16_t both = 3;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
        "%2, "
        "[%3], %4;" ::"r"(address(to)),
        "l"(from), "r"(count), "r"(address_), "h"(both)
        : "memory");
#endif
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
 private:
  static __device__ __forceinline__ std::uint32_t address(void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }
  std::uint32_t address_;
#endif
#endif
};

/// Called by all threads of the cluster, after one of each block began its barriers, and before they end:
/// waits for the others.
__device__ __forceinline__ void meet_cluster() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(HEMERA_CUDA_EMULATION)
  __syncwarp();
  cluster_arrive();
  cluster_wait();
#endif
}

}  // namespace hemera::poly::cuda::matrix
