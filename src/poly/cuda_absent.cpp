// A build without CUDA has this in place of poly/cuda.
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

#if !defined(HEMERA_CUDA)
namespace hemera::poly {

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> /*ring*/,
                                                 const CudaSettings& settings) {
  throw DeviceError("device '" + runtime::Device{runtime::Device::Kind::cuda, settings.device}.name() +
                    "' is not available: " + runtime::find_cuda_devices().problem);
}

}  // namespace hemera::poly
#endif
