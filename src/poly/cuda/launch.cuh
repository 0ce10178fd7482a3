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

/// How a kernel is launched.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  unsigned cluster = 1;  // blocks of a cluster, which are neighbours in x
  int carve_out =
      -1;  // shared memory of a multiprocessor that the kernel prefers, in percent; below 0: CUDA's choice
};

/// CUDA's form of a launch's shape.
class LaunchConfiguration {
 public:
  LaunchConfiguration(const LaunchShape& shape, cudaStream_t stream) {
    unsigned count = 0;
    attributes_[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[count++].val.programmaticStreamSerializationAllowed = 1;
    if (shape.cluster > 1) {
      attributes_[count].id = cudaLaunchAttributeClusterDimension;
      attributes_[count].val.clusterDim.x = shape.cluster;
      attributes_[count].val.clusterDim.y = 1;
      attributes_[count++].val.clusterDim.z = 1;
    }
#if !defined(HEMERA_CUDA_EMULATION) && CUDART_VERSION >= 13000
    if (shape.carve_out >= 0) {
      attributes_[count].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
      attributes_[count++].val.sharedMemCarveout = static_cast<unsigned>(shape.carve_out);
    }
#endif
    configuration_.gridDim = shape.grid;
    configuration_.blockDim = shape.block;
    configuration_.dynamicSmemBytes = shape.shared_bytes;
    configuration_.stream = stream;
    configuration_.attrs = attributes_;
    configuration_.numAttrs = count;
  }
  LaunchConfiguration(const LaunchConfiguration&) = delete;
  LaunchConfiguration& operator=(const LaunchConfiguration&) = delete;

  [[nodiscard]] const cudaLaunchConfig_t* get() const { return &configuration_; }

 private:
  cudaLaunchAttribute attributes_[3] = {};
  cudaLaunchConfig_t configuration_{};
};

/// Lets a kernel have so much shared memory on the current device, from now on: less is never set, since a
/// thread that has asked for more may not have launched it yet.
void allow_shared_bytes(const void* kernel, std::size_t bytes, const char* operation);

/// Launches a kernel that calls begin_kernel. Throws DeviceError that names the operation.
template <typename... Parameters>
void launch_as(const LaunchShape& shape, const char* operation, cudaStream_t stream,
               void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  const LaunchConfiguration configuration(shape, stream);
  allow_shared_bytes(reinterpret_cast<const void*>(kernel), shape.shared_bytes, operation);
  runtime::cuda::check(cudaLaunchKernelEx(configuration.get(), kernel, arguments...), operation);
}

/// The same in clusters of `cluster` blocks.
template <typename... Parameters>
void launch_clusters(const char* operation, cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid,
                     dim3 block, unsigned cluster, std::size_t shared_bytes,
                     std::type_identity_t<Parameters>... arguments) {
  launch_as({grid, block, shared_bytes, cluster}, operation, stream, kernel, arguments...);
}

/// The same without clusters.
template <typename... Parameters>
void launch(const char* operation, cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, std::type_identity_t<Parameters>... arguments) {
  launch_as({grid, block, shared_bytes}, operation, stream, kernel, arguments...);
}

}  // namespace hemera::poly::cuda
