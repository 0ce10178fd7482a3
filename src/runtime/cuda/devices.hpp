// The CUDA devices of this machine.
#pragma once

#include "hemera/runtime/device.hpp"

namespace hemera::runtime::cuda {

/// See runtime::find_cuda_devices.
CudaDevices find_devices();

/// Throws DeviceError, with the reason and the way out, unless `index` is a device that this build can use.
void require_device(int index);

/// Lets copies between two devices go directly, where the machine can do that; elsewhere they go by way of
/// the host.
void enable_direct_copies(int device, int other);

/// See runtime::cuda_device_of.
int device_of(const void* pointer);

}  // namespace hemera::runtime::cuda
