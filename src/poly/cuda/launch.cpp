#include "poly/cuda/launch.cuh"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace hemera::poly::cuda {

void allow_shared_bytes(const void* kernel, std::size_t bytes, const char* operation) {
  constexpr std::size_t always_allowed = 48 * 1024;
  if (bytes <= always_allowed) return;
  static std::shared_mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> allowed;  // by kernel and device
  std::pair<const void*, int> place(kernel, 0);
  runtime::cuda::check(cudaGetDevice(&place.second), operation);
  {
    const std::shared_lock lock(mutex);
    const auto found = allowed.find(place);
    if (found != allowed.end() && found->second >= bytes) return;
  }
  const std::unique_lock lock(mutex);
  std::size_t& most = allowed[place];
  if (most >= bytes) return;
  runtime::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      operation);
  most = bytes;
}

}  // namespace hemera::poly::cuda
