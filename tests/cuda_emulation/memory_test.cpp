// The pool of device memory: its limit, and what it gives back to keep it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/recording.hpp"
#include "runtime/cuda/stream_memory.hpp"

namespace hemera::testing {
namespace {

using runtime::Buffer;
using runtime::cuda::StreamMemory;
using runtime::cuda::Streams;

constexpr std::size_t block = std::size_t{1} << 20;

std::shared_ptr<StreamMemory> make_memory(std::size_t limit) {
  return std::make_shared<StreamMemory>(std::make_shared<const Streams>(0), limit);
}

std::size_t allocations() { return emulation::counts().allocations; }

TEST(EmulationMemory, TakesAsMuchAsItsLimitAndNoMore) {
  const auto memory = make_memory(4 * block);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.emplace_back(memory, block);
  try {
    const Buffer one_more(memory, 1);
    FAIL() << "above the limit";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("under a limit of " + std::to_string(4 * block)),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(memory->used(), 4 * block);
  buffers.pop_back();
  EXPECT_NO_THROW(buffers.emplace_back(memory, block));
}

TEST(EmulationMemory, BlocksThatAreKeptCountAndGoBackForOthers) {
  const auto memory = make_memory(4 * block);
  { const Buffer first(memory, block), second(memory, block); }
  const std::size_t before = allocations();
  {
    const Buffer again(memory, block);  // of the two that are kept
  }
  EXPECT_EQ(allocations(), before);
  {
    const Buffer large(memory, 4 * block);  // fits alone
  }
  EXPECT_EQ(allocations(), before + 1);
  const Buffer small(memory, block);  // the large one is kept, and has to go
  EXPECT_EQ(allocations(), before + 2);
  EXPECT_THROW(Buffer(memory, 4 * block), OutOfMemoryError);
}

TEST(EmulationMemory, WhatIsKeptGoesBackWhereTheDeviceHasNoMore) {
  const auto memory = make_memory(0);
  { const Buffer first(memory, block); }
  emulation::refused_allocations = 1;
  EXPECT_NO_THROW(Buffer(memory, 2 * block));
  emulation::refused_allocations = 2;
  EXPECT_THROW(Buffer(memory, 4 * block), OutOfMemoryError);
  emulation::refused_allocations = 0;
}

// What a graph worked in is kept when it ends, counts, and goes back for others.
TEST(EmulationMemory, BlocksOfRecordingsAreKeptAtTheirEnd) {
  for (const bool finished : {true, false}) {
    const auto streams = std::make_shared<const Streams>(0);
    const auto memory = std::make_shared<StreamMemory>(streams, 4 * block);
    {
      runtime::cuda::Recorder recorder(streams, memory);
      { const Buffer inside(memory, block); }
      if (finished) static_cast<void>(recorder.finish());
    }
    const std::size_t before = allocations();
    { const Buffer again(memory, block); }
    EXPECT_EQ(allocations(), before) << "it is lost";
    EXPECT_NO_THROW(Buffer(memory, 4 * block));  // fits alone
  }
}

TEST(EmulationMemory, WithoutALimitOnlyTheDeviceRefuses) {
  const auto memory = make_memory(0);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 16; ++i) buffers.emplace_back(memory, block);
  EXPECT_THROW(Buffer(memory, std::size_t{1} << 34), OutOfMemoryError);
}

}  // namespace
}  // namespace hemera::testing
