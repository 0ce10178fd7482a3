#include "runtime/cuda/devices.hpp"

#include <cuda_runtime.h>

#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {
namespace {

// The oldest architecture that kernels are compiled for, as 10 major + minor; newer ones are compiled from
// it.
#if defined(HEMERA_CUDA_OLDEST_ARCHITECTURE)
constexpr int oldest_architecture = HEMERA_CUDA_OLDEST_ARCHITECTURE;
#else
constexpr int oldest_architecture = 0;
#endif

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}
std::string capability(int number) { return std::to_string(number / 10) + "." + std::to_string(number % 10); }

}  // namespace

CudaDevices find_devices() {
  CudaDevices found;
  int driver = 0;
  // 0, and no error, where there is no driver.
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver != 0) found.driver = version(driver);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();  // it stays otherwise
    if (driver == 0) {
      found.problem = "this machine has no NVIDIA driver; use 'cpu', or install the driver";
    } else if (error == cudaErrorInsufficientDriver) {
      int runtime = 0;
      cudaRuntimeGetVersion(&runtime);
      found.problem = "the NVIDIA driver serves CUDA " + version(driver) + ", and this build needs " +
                      version(runtime) + "; use 'cpu', or install a newer driver";
    } else if (error != cudaErrorNoDevice) {
      found.problem =
          std::string("CUDA says '") + cudaGetErrorString(error) + "' when asked for its devices; use 'cpu'";
    }
    count = 0;
  }
  if (count == 0 && found.problem.empty()) {
    found.problem = "the NVIDIA driver shows no device (CUDA_VISIBLE_DEVICES may hide them); use 'cpu'";
  }
  for (int index = 0; index < count; ++index) {
    CudaDevice device;
    device.index = index;
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
      device.problem =
          std::string("CUDA says '") + cudaGetErrorString(cudaGetLastError()) + "' when asked about it";
    } else {
      device.name = properties.name;
      device.memory_bytes = properties.totalGlobalMem;
      device.major = properties.major;
      device.minor = properties.minor;
      device.multiprocessors = properties.multiProcessorCount;
      const int own = 10 * device.major + device.minor;
      if (own < oldest_architecture) {
        device.problem = "its compute capability is " + capability(own) + ", and this build serves " +
                         capability(oldest_architecture) +
                         " and newer; use 'cpu', or build with a lower CMAKE_CUDA_ARCHITECTURES";
      }
    }
    found.devices.push_back(std::move(device));
  }
  return found;
}

void require_device(int index) {
  const std::string wanted = "device '" + Device{Device::Kind::cuda, index}.name() + "' is not available: ";
  const CudaDevices found = find_devices();
  if (found.devices.empty()) throw DeviceError(wanted + found.problem);
  for (const CudaDevice& device : found.devices) {
    if (device.index != index) continue;
    if (!device.problem.empty()) throw DeviceError(wanted + device.problem);
    return;
  }
  const int last = static_cast<int>(found.devices.size()) - 1;
  throw DeviceError(wanted + "this machine has " +
                    (last == 0 ? "one CUDA device, 'cuda:0'"
                               : std::to_string(last + 1) +
                                     " CUDA devices, 'cuda:0' to 'cuda:" + std::to_string(last) + "'") +
                    "; use " + (last == 0 ? "that" : "one of those") + " or 'cpu'");
}

void enable_direct_copies(int device, int other) {
  for (const auto& [from, to] : {std::pair(device, other), std::pair(other, device)}) {
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, from, to) != cudaSuccess || possible == 0) {
      cudaGetLastError();  // it stays otherwise
      continue;
    }
    const DeviceScope scope(from);
    // Somebody else in the process may have enabled it. Of other errors (a limit of peers) copies are only
    // slower.
    if (cudaDeviceEnablePeerAccess(to, 0) != cudaSuccess) cudaGetLastError();
  }
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "find the device of an array");
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
    throw DeviceError(
        "an array that says it is in the memory of a GPU is not; give it as an array of the host");
  }
  return attributes.device;
}

}  // namespace hemera::runtime::cuda
