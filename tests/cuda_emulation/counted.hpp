// What an operation asks of the emulated device.
#pragma once

#include <cuda_runtime.h>

namespace hemera::testing {

using emulation::Counts;

template <typename Operation>
Counts counted(const Operation& operation) {
  const Counts before = emulation::counts();
  operation();
  const Counts after = emulation::counts();
  return {.kernels = after.kernels - before.kernels,
          .copies_to_device = after.copies_to_device - before.copies_to_device,
          .fills = after.fills - before.fills,
          .copies_to_host = after.copies_to_host - before.copies_to_host,
          .synchronizations = after.synchronizations - before.synchronizations,
          .allocations = after.allocations - before.allocations,
          .stream_waits = after.stream_waits - before.stream_waits};
}

}  // namespace hemera::testing
