// The CUDA devices of this machine.
#pragma once

#include <string>
#include <string_view>

#include "hemera/runtime/device.hpp"

namespace hemera::runtime::cuda {

/// See runtime::find_cuda_devices.
CudaDevices find_devices();

/// Why a device of a compute capability (90 for 9.0) can not run kernels compiled for `architectures`, a list
/// "80-real,90" in the words of CMAKE_CUDA_ARCHITECTURES; empty if it can.
std::string problem_of(int capability, std::string_view architectures);

/// Throws DeviceError, with the reason and the way out, unless `index` is a device that this build can use.
void require_device(int index);

/// Lets copies between two devices go directly, where the machine can do that; elsewhere they go by way of
/// the host. Whether kernels of `device` can read the memory of `other`.
bool enable_direct_copies(int device, int other);

/// See runtime::cuda_device_of.
int device_of(const void* pointer);

}  // namespace hemera::runtime::cuda
