#include "runtime/cuda/devices.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {
namespace {

constexpr int least_capability = 80;

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}
std::string capability(int number) { return std::to_string(number / 10) + "." + std::to_string(number % 10); }

// Entries like "80-real", "90-virtual" and "100" (both kinds): machine code runs on devices of the same major
// number that are as new, and what the driver compiles runs on all that are as new.
bool serves(std::string_view entry, int own) {
  int number = 0;
  std::from_chars(entry.data(), entry.data() + entry.size(), number);
  const bool machine_code = !entry.ends_with("-virtual"), compiled_later = !entry.ends_with("-real");
  return number <= own && (compiled_later || (machine_code && number / 10 == own / 10));
}

}  // namespace

std::string problem_of(int own, std::string_view architectures) {
  const std::string is = "its compute capability is " + capability(own);
  if (own < least_capability) {
    return is + ", and kernels use instructions that begin with " + capability(least_capability) +
           " (asynchronous copies to shared memory, 8-bit products of 16 x 32 on the tensor cores); use "
           "'cpu'";
  }
  bool named = true;
  for (std::size_t begin = 0; begin < architectures.size();) {
    const std::size_t end = std::min(architectures.find(',', begin), architectures.size());
    const std::string_view entry = architectures.substr(begin, end - begin);
    named = named && !entry.empty() && entry[0] >= '0' && entry[0] <= '9';
    if (serves(entry, own)) return "";
    begin = end + 1;
  }
  // Names like `native` say nothing.
  if (architectures.empty() || !named) return "";
  return is + ", and this build has code for " + std::string(architectures) +
         "; use 'cpu', or build with CMAKE_CUDA_ARCHITECTURES=" + std::to_string(own);
}

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
      device.problem = problem_of(10 * device.major + device.minor, HEMERA_CUDA_ARCHITECTURES);
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

bool enable_direct_copies(int device, int other) {
  bool reads = false;
  for (const auto& [from, to] : {std::pair(device, other), std::pair(other, device)}) {
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, from, to) != cudaSuccess || possible == 0) {
      cudaGetLastError();  // it stays otherwise
      continue;
    }
    const DeviceScope scope(from);
    // Somebody else in the process may have enabled it. After other errors (a limit of peers) copies are only
    // slower.
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(to, 0);
    if (enabled != cudaSuccess) cudaGetLastError();
    if (from == device) reads = enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled;
  }
  return reads;
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "find the device of an array");
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
    throw DeviceError("an array that says it is in the memory of a GPU is not; " +
                      Message(WayOut::array_of_host, "give it as an array of the host"));
  }
  return attributes.device;
}

}  // namespace hemera::runtime::cuda
