// The energy counter of a GPU.
#pragma once

#include <functional>
#include <optional>

#include "energy.hpp"

namespace hemera::gpu_bench {

/// NVML's total energy of a GPU, by the library that comes with the driver; it counts in every process of the
/// GPU. Index as NVML has it.
bench::EnergyCounter gpu_energy(int device);

/// The energy of rounds one after the other for 1.5 s. Nothing, and a line that says so, where the driver has
/// no counter.
std::optional<bench::Energy> measure_gpu_energy(int device, const std::function<void()>& round);

}  // namespace hemera::gpu_bench
