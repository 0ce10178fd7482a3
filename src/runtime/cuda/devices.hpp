// The CUDA devices of this machine.
#pragma once

#include "hemera/runtime/device.hpp"

namespace hemera::runtime::cuda {

/// See runtime::find_cuda_devices.
CudaDevices find_devices();

/// Throws DeviceError, with the reason and the way out, unless `index` is a device that this build can use.
void require_device(int index);

/// See runtime::cuda_device_of.
int device_of(const void* pointer);

}  // namespace hemera::runtime::cuda
