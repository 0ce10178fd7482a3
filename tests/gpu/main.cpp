// All tests of this program run on a GPU: the first one, or what HEMERA_TEST_DEVICE names. Without one
// nothing runs, and the exit status is 77, which test runners know as "skipped".
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "hemera/runtime/device.hpp"

int main(int argument_count, char** arguments) {
  ::testing::InitGoogleTest(&argument_count, arguments);
  const hemera::runtime::CudaDevices found = hemera::runtime::find_cuda_devices();
  if (found.devices.empty()) {
    std::cout << "skipped: " << found.problem << "\n";
    return 77;
  }
  for (const auto& device : found.devices) {
    std::cout << "cuda:" << device.index << " " << device.name << ", " << (device.memory_bytes >> 30)
              << " GiB, compute capability " << device.major << "." << device.minor << ", driver for CUDA "
              << found.driver << device.problem << "\n";
  }
  ::setenv("HEMERA_TEST_DEVICE", "cuda", 0);
  return RUN_ALL_TESTS();
}
