// Which processor an object lives on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hemera::runtime {

struct Device {
  /// On `ledger` nothing is computed: operations and memory are counted (hemera/poly/ledger.hpp).
  enum class Kind { cpu, cuda, ledger };

  Kind kind = Kind::cpu;
  int index = 0;

  /// Reads "cpu", "cuda", "cuda:1" or "ledger". Throws DeviceError for anything else.
  static Device parse(std::string_view name);

  [[nodiscard]] std::string name() const;

  friend bool operator==(const Device&, const Device&) = default;
};

/// A CUDA device, as the driver describes it.
struct CudaDevice {
  int index = 0;
  std::string name;
  std::size_t memory_bytes = 0;
  /// Compute capability: 9.0 is {9, 0}.
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  /// Why this build can not use it, with the way out; empty if it can.
  std::string problem;
};

struct CudaDevices {
  std::vector<CudaDevice> devices;
  /// The newest CUDA that the driver serves, "13.0"; empty without a driver.
  std::string driver;
  /// Why there are no devices, with the way out; empty if there are.
  std::string problem;
};

/// The devices that the driver of this machine reports. Without a driver, or in a build without CUDA, there
/// are none, and it does not throw: one build serves machines with and without GPUs.
CudaDevices find_cuda_devices();

/// Index of the CUDA device whose memory the pointer points to. Throws DeviceError if the pointer is not to
/// such memory, and in a build without CUDA.
int cuda_device_of(const void* pointer);

}  // namespace hemera::runtime
