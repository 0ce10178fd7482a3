// Copies from global to shared memory that do not pass through registers.
#pragma once

#include <cuda_runtime.h>

namespace hemera::poly::cuda {

/// Copies an object behind the thread's back; it is there for the thread after finish_copies, and for others
/// after a barrier that follows.
template <typename T>
__device__ __forceinline__ void copy_to_shared(T* shared, const T* global) {
  static_assert(sizeof(T) == 8 || sizeof(T) == 16);
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global), "n"(sizeof(T))
               : "memory");
#else
  *shared = *global;
#endif
}
/// The same past the first-level cache, which may have words of before: for what is read before begin_kernel.
template <typename T>
__device__ __forceinline__ void copy_past_first_level(T* shared, const T* global) {
  static_assert(sizeof(T) == 16);
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#else
  *shared = *global;
#endif
}
/// Ends a group of the thread's copies, which may be empty; and waits for all groups but the last `pending`.
__device__ __forceinline__ void end_group_of_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int pending>
__device__ __forceinline__ void finish_groups_of_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}
__device__ __forceinline__ void finish_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace hemera::poly::cuda
