// CUDA's error codes as typed exceptions.
#pragma once

#include <cuda_runtime.h>

namespace hemera::runtime::cuda {

/// Throws OutOfMemoryError or DeviceError that names the operation and CUDA's reason. Kernels run after the
/// call that launched them, so an error that a kernel meets surfaces at the next call or synchronisation.
[[noreturn]] void fail(cudaError_t error, const char* operation);

inline void check(cudaError_t error, const char* operation) {
  if (error != cudaSuccess) fail(error, operation);
}

/// Makes a device current for the calling thread until the end of the scope.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

}  // namespace hemera::runtime::cuda
