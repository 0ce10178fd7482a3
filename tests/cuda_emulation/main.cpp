// All tests of this program run on the emulated device.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argument_count, char** arguments) {
  ::testing::InitGoogleTest(&argument_count, arguments);
  ::setenv("HEMERA_TEST_DEVICE", "cuda", 1);
  return RUN_ALL_TESTS();
}
