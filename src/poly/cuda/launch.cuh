// How kernels are launched, and what every kernel begins with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {

#if defined(HEMERA_CUDA_EMULATION)
/// Shared memory whose size the launch gives.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::current_block().dynamic_shared);
}
#else
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char hemera_dynamic_shared[];
  return reinterpret_cast<T*>(hemera_dynamic_shared);
}
#endif

/// First statement of a kernel: waits for the kernels before it, then lets the next one be brought up
/// (programmatic dependent launch; earlier devices launch in order). Because every kernel waits, here or at
/// its end, all kernels but the last one before it have finished as well.
__device__ __forceinline__ void begin_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Instead of begin_kernel, in a kernel that does not depend on the one before it and fills what that leaves
/// idle: it begins when all blocks of that one have begun, so the kernels before have finished.
__device__ __forceinline__ void begin_kernel_beside() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Last statement of such a kernel: it does not finish before the one that it ran beside, so that waiting for
/// it is waiting for both.
__device__ __forceinline__ void end_kernel_beside() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Launches a kernel that calls begin_kernel, in clusters of `cluster` blocks that are neighbours in x.
/// Throws DeviceError that names the operation.
template <typename... Parameters>
void launch_clusters(const char* operation, cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid,
                     dim3 block, unsigned cluster, std::size_t shared_bytes,
                     std::type_identity_t<Parameters>... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = cluster;
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = grid;
  configuration.blockDim = block;
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream;
  configuration.attrs = attributes;
  configuration.numAttrs = cluster > 1 ? 2 : 1;
  if (shared_bytes > 48 * 1024) {
    runtime::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(shared_bytes)),
                         operation);
  }
  runtime::cuda::check(cudaLaunchKernelEx(&configuration, kernel, arguments...), operation);
}

/// The same without clusters.
template <typename... Parameters>
void launch(const char* operation, cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, std::type_identity_t<Parameters>... arguments) {
  launch_clusters(operation, stream, kernel, grid, block, 1, shared_bytes, arguments...);
}

}  // namespace hemera::poly::cuda
