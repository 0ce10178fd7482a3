// The CUDA backend's functions for the core.
#include <memory>
#include <utility>

#include "poly/cuda/cuda_backend.hpp"
#include "runtime/cuda/devices.hpp"
#include "runtime/cuda_library.hpp"

const hemera::runtime::CudaLibrary* hemera_cuda_library() {
  using namespace hemera;
  static constexpr runtime::CudaLibrary library{
      .version = HEMERA_VERSION,
      .interface = HEMERA_CUDA_INTERFACE,
      .find_devices = &runtime::cuda::find_devices,
      .device_of = &runtime::cuda::device_of,
      .make_backend = [](std::shared_ptr<const poly::Ring> ring,
                         const poly::CudaSettings& settings) -> std::shared_ptr<const poly::Backend> {
        return std::make_shared<const poly::cuda::CudaBackend>(std::move(ring), settings);
      }};
  return &library;
}
