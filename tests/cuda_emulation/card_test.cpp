// What the driver says of a device becomes the card that the backend chooses by.
#include "poly/cuda/card.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "poly/cuda/forcing.hpp"
#include "poly/cuda/schedule.hpp"

namespace hemera::poly::cuda {
namespace {

// The emulated device as its driver describes another one.
class EmulationCard : public ::testing::Test {
 protected:
  ~EmulationCard() override { emulation::attributes = emulation::h200(); }

  // The arithmetic of moduli that all arithmetics take.
  static Arithmetic chosen() { return arithmetic_of(true, true, choices_for(card_of_device(0), "").tuning); }
};

TEST_F(EmulationCard, IsWhatTheDriverSays) {
  EXPECT_EQ(card_of_device(0), Card{});
  emulation::attributes = {{cudaDevAttrClockRate, 2520000},
                           {cudaDevAttrMultiProcessorCount, 128},
                           {cudaDevAttrMemoryClockRate, 10501000},
                           {cudaDevAttrGlobalMemoryBusWidth, 384},
                           {cudaDevAttrL2CacheSize, 72 << 20},
                           {cudaDevAttrComputeCapabilityMajor, 8},
                           {cudaDevAttrComputeCapabilityMinor, 9},
                           {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 100 * 1024},
                           {cudaDevAttrSingleToDoublePrecisionPerfRatio, 64},
                           {cudaDevAttrMaxSharedMemoryPerBlockOptin, 99 * 1024},
                           {cudaDevAttrClusterLaunch, 0}};
  const Card card = card_of_device(0);
  EXPECT_EQ(card, (Card{.capability = 89,
                        .multiprocessors = 128,
                        .clock_mhz = 2520,
                        .shared_bytes_of_multiprocessor = 100 * 1024,
                        .shared_bytes_of_block = 99 * 1024,
                        .cache_bytes = std::size_t{72} << 20,
                        .bandwidth = 1008,
                        .single_to_double = 64,
                        .launches_clusters = false}));
  // Kernels of clusters are compiled from 9.0 on, whatever the driver says.
  emulation::attributes[cudaDevAttrClusterLaunch] = 1;
  EXPECT_EQ(card_of_device(0), card);
}

TEST_F(EmulationCard, ChoosesTheArithmetic) {
  EXPECT_EQ(chosen(), Arithmetic::f64);
  emulation::attributes[cudaDevAttrSingleToDoublePrecisionPerfRatio] = 64;
  EXPECT_EQ(chosen(), Arithmetic::m64);
}

}  // namespace
}  // namespace hemera::poly::cuda
