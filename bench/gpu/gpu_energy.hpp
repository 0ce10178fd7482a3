// The energy counter of a GPU.
#pragma once

#include "energy.hpp"

namespace hemera::gpu_bench {

/// NVML's total energy of a GPU, by the library that comes with the driver; it counts in every process of the
/// GPU. Index as NVML has it.
bench::EnergyCounter gpu_energy(int device);

}  // namespace hemera::gpu_bench
