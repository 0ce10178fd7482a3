// The facts of a device that the driver reports.
#include <cuda_runtime.h>

#include "poly/cuda/card.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {

Card card_of_device(int device) {
  const auto ask = [&](cudaDeviceAttr attribute) {
    int value = 0;
    runtime::cuda::check(cudaDeviceGetAttribute(&value, attribute, device), "describe the device");
    return static_cast<std::size_t>(value);
  };
  Card card;
  card.capability = 10 * ask(cudaDevAttrComputeCapabilityMajor) + ask(cudaDevAttrComputeCapabilityMinor);
  card.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  card.clock_mhz = ask(cudaDevAttrClockRate) / 1000;
  card.shared_bytes_of_multiprocessor = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  card.shared_bytes_of_block = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  card.cache_bytes = ask(cudaDevAttrL2CacheSize);
  // Two transfers a cycle, of this many bits; in kHz.
  card.bandwidth =
      2 * ask(cudaDevAttrMemoryClockRate) / 1000 * (ask(cudaDevAttrGlobalMemoryBusWidth) / 8) / 1000;
  card.single_to_double = ask(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  // Their kernels are compiled from 9.0 on.
  card.launches_clusters = card.capability >= 90 && ask(cudaDevAttrClusterLaunch) != 0;
  return card;
}

}  // namespace hemera::poly::cuda
