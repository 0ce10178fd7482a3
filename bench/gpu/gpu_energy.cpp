#include "gpu/gpu_energy.hpp"

#include <dlfcn.h>

#include <iostream>
#include <memory>

namespace hemera::gpu_bench {
namespace {

// NVML's C interface, of which the driver's library keeps the names: 0 is success.
using Device = struct NvmlDevice*;
using Init = int (*)();
using GetDevice = int (*)(unsigned, Device*);
using GetEnergy = int (*)(Device, unsigned long long*);

struct Library {
  std::unique_ptr<void, int (*)(void*)> handle{::dlopen("libnvidia-ml.so.1", RTLD_NOW), ::dlclose};

  template <typename Function>
  [[nodiscard]] Function find(const char* name) const {
    return handle == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(handle.get(), name));
  }
};

}  // namespace

bench::EnergyCounter gpu_energy(int device) {
  const auto library = std::make_shared<const Library>();
  const auto init = library->find<Init>("nvmlInit_v2");
  const auto get_device = library->find<GetDevice>("nvmlDeviceGetHandleByIndex_v2");
  const auto get_energy = library->find<GetEnergy>("nvmlDeviceGetTotalEnergyConsumption");
  Device found = nullptr;
  const bool usable = init != nullptr && get_device != nullptr && get_energy != nullptr && init() == 0 &&
                      get_device(static_cast<unsigned>(device), &found) == 0;
  return [library, get_energy, found, usable]() -> std::optional<double> {
    unsigned long long millijoules = 0;
    if (!usable || get_energy(found, &millijoules) != 0) return std::nullopt;
    return 1e-3 * static_cast<double>(millijoules);
  };
}

std::optional<bench::Energy> measure_gpu_energy(int device, const std::function<void()>& round) {
  constexpr double least_seconds = 1.5;
  const std::optional<bench::Energy> energy = bench::measure_energy(gpu_energy(device), round, least_seconds);
  if (!energy) std::cerr << "  energy: skipped, the driver has no counter of it\n";
  return energy;
}

}  // namespace hemera::gpu_bench
