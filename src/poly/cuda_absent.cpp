// A build without CUDA has this in place of poly/cuda.
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

#if !defined(HEMERA_CUDA)
namespace hemera::poly {

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> /*ring*/, int device,
                                                 std::size_t /*memory_limit*/) {
  throw DeviceError("device '" + runtime::Device{runtime::Device::Kind::cuda, device}.name() +
                    "' is not available: " + runtime::find_cuda_devices().problem);
}

}  // namespace hemera::poly
#endif
