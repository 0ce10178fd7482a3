#include "runtime/cuda/check.hpp"

#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::runtime::cuda {

void fail(cudaError_t error, const char* operation) {
  const std::string text = std::string(operation) + ": CUDA says '" + cudaGetErrorString(error) + "'";
  if (error == cudaErrorMemoryAllocation) {
    throw OutOfMemoryError(text + "; use a smaller batch, fewer keys or a smaller ring");
  }
  throw DeviceError(text + "; the error may come from an earlier operation of this device");
}

DeviceScope::DeviceScope(int device) {
  check(cudaGetDevice(&previous_), "select the device");
  if (previous_ == device) return;
  check(cudaSetDevice(device), "select the device");
  changed_ = true;
}

DeviceScope::~DeviceScope() {
  if (changed_) cudaSetDevice(previous_);
}

}  // namespace hemera::runtime::cuda
