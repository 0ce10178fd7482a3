// Pools of contexts that share a device: what one keeps for reuse goes back for another.
#include "runtime/cuda/neighbours.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "runtime/cuda/recording.hpp"
#include "runtime/cuda/stream_memory.hpp"

namespace hemera::testing {
namespace {

using runtime::Buffer;
using runtime::Secrecy;
using runtime::cuda::Neighbours;
using runtime::cuda::Place;
using runtime::cuda::Recorder;
using runtime::cuda::StreamMemory;
using runtime::cuda::Streams;

constexpr std::size_t block = std::size_t{1} << 20;

/// Devices with room for 8 blocks beside what the process has already.
class EmulationNeighbours : public ::testing::Test {
 protected:
  void SetUp() override {
    emulation::device_memory = emulation::device_memory - emulation::free_device_memory() + 8 * block;
    emulation::devices = 2;
  }
  void TearDown() override {
    emulation::device_memory = std::size_t{1} << 33;
    emulation::devices = 1;
  }

  struct Pool {
    explicit Pool(std::size_t limit = 0, int device = 0, Place place = Place::device)
        : streams(std::make_shared<const Streams>(device)),
          memory(std::make_shared<StreamMemory>(streams, limit, place)) {}
    [[nodiscard]] Buffer take(std::size_t blocks) const { return {memory, blocks * block}; }
    /// From now on the pool keeps it for reuse.
    void keep(std::size_t blocks) const { static_cast<void>(take(blocks)); }
    [[nodiscard]] std::string refusal(std::size_t blocks) const {
      return tests::refusal<OutOfMemoryError>([&] { return take(blocks); });
    }

    std::shared_ptr<const Streams> streams;
    std::shared_ptr<StreamMemory> memory;
  };

  static std::size_t free_blocks() { return emulation::free_device_memory() / block; }
};

TEST_F(EmulationNeighbours, WhatOthersKeepGoesBackForAPool) {
  const Pool first, second, third;
  const Buffer used = first.take(1);
  first.keep(4);
  second.keep(2);
  EXPECT_EQ(free_blocks(), 1U);
  const Buffer large = third.take(7);
  EXPECT_EQ(free_blocks(), 0U);
  EXPECT_EQ(first.memory->used(), block);
  EXPECT_EQ(third.memory->used(), 7 * block);
  // Nothing that went back is handed out again.
  EXPECT_NE(first.refusal(4), "");
  EXPECT_NE(second.refusal(2), "");
}

TEST_F(EmulationNeighbours, APoolTakesWhatItKeepsItselfFirst) {
  const Pool first, second;
  first.keep(3);
  second.keep(5);
  const Buffer large = second.take(4);  // of the 5
  EXPECT_EQ(free_blocks(), 0U);
  const Buffer small = second.take(1);  // of what the first one kept
  EXPECT_EQ(free_blocks(), 2U);
}

TEST_F(EmulationNeighbours, WhatItKeepsItselfIsEnoughWhereItIs) {
  const Pool first, second;
  first.keep(3);
  second.keep(5);
  const Buffer small = second.take(2);
  EXPECT_EQ(free_blocks(), 3U) << "its own 5 went back";
  const std::size_t before = emulation::counts().allocations;
  first.keep(3);
  EXPECT_EQ(emulation::counts().allocations, before) << "the other's went back as well";
}

TEST_F(EmulationNeighbours, TheErrorSaysWhatOthersHold) {
  const Pool first, second;
  const Buffer used = first.take(5), own = second.take(1);
  const std::string refusal = second.refusal(4);
  EXPECT_TRUE(tests::says(refusal, "asked for " + std::to_string(4 * block) + " bytes with " +
                                       std::to_string(block) + " in use, " + std::to_string(5 * block) +
                                       " held by other contexts of this process and " +
                                       std::to_string(2 * block) + " free"))
      << refusal;
  EXPECT_FALSE(tests::says(Pool(0, 1).refusal(9), "other contexts")) << "of another device";
}

TEST_F(EmulationNeighbours, AllOfTheNeighboursCanBeAvailable) {
  const Pool first, second(4 * block);
  const Buffer used = first.take(1);
  first.keep(4);
  EXPECT_EQ(first.memory->available(), 7 * block);
  EXPECT_EQ(second.memory->available(), 4 * block) << "its limit";
  EXPECT_EQ(Pool().memory->available(), 7 * block);
  EXPECT_EQ(Pool(0, 1).memory->available(), emulation::device_memory);
}

TEST_F(EmulationNeighbours, ALimitOfAPoolTakesNothingFromOthers) {
  const Pool first, limited(2 * block);
  first.keep(4);
  const std::string refusal = limited.refusal(3);
  EXPECT_TRUE(tests::says(refusal, "under a limit of " + std::to_string(2 * block)));
  EXPECT_FALSE(tests::says(refusal, "other contexts"));
  EXPECT_EQ(free_blocks(), 4U);
}

TEST_F(EmulationNeighbours, OtherDevicesAndPlacesKeepTheirs) {
  const Pool first, elsewhere(0, 1), pinned(0, 0, Place::pinned_host);
  elsewhere.keep(8);
  pinned.keep(1);
  const std::size_t kept = emulation::pinned_blocks().size();
  EXPECT_NE(first.refusal(9), "");
  EXPECT_EQ(emulation::pinned_blocks().size(), kept);
  const std::size_t before = emulation::counts().allocations;
  elsewhere.keep(8);
  EXPECT_EQ(emulation::counts().allocations, before);
}

TEST_F(EmulationNeighbours, PinnedMemoryIsSharedByAllDevices) {
  const Pool first(0, 0, Place::pinned_host), second(0, 1, Place::pinned_host);
  const std::size_t before = emulation::pinned_blocks().size();
  first.keep(1);
  emulation::refused_pinned_allocations = 1;
  EXPECT_NO_THROW(second.keep(2));
  EXPECT_EQ(emulation::pinned_blocks().size(), before + 1) << "the first one's went back";
}

TEST_F(EmulationNeighbours, WhileARecordingIsMadeNothingOfItsMemoryGoesBack) {
  const Pool first, second, third;
  first.keep(3);
  second.keep(2);
  Recorder recorder(first.streams, {first.memory});
  EXPECT_EQ(free_blocks(), 6U) << "what it kept before went back";
  const Buffer inside = first.take(1);  // of its own
  std::thread([&] {
    first.keep(3);
    EXPECT_EQ(free_blocks(), 2U);
    EXPECT_NO_THROW(third.keep(4)) << "the second one's";
    EXPECT_EQ(third.memory->available(), 4 * block);
    const std::string refusal = third.refusal(7);
    EXPECT_TRUE(tests::says(refusal, std::to_string(4 * block) + " held by other contexts"));
  }).join();
  // The emulation ends a program that frees within a capture.
  third.keep(4);
  EXPECT_EQ(first.memory->available(), 3 * block) << "what it keeps itself";
  const std::string refusal = first.refusal(5);
  EXPECT_TRUE(tests::says(refusal, std::to_string(4 * block) + " held by other contexts"));
}

TEST_F(EmulationNeighbours, WhatAGraphWorksInStays) {
  const Pool first, second;
  std::optional<Buffer> read(first.take(1));
  std::memset(read->data(), 7, block);
  std::byte* inside = nullptr;
  std::unique_ptr<runtime::cuda::Recording> graph;
  {
    Recorder recorder(first.streams, {first.memory});
    {
      Buffer scratch = first.take(2);
      inside = scratch.data();
      cudaMemcpyAsync(inside, std::as_const(*read).data(), block, cudaMemcpyDeviceToDevice);
    }
    graph = recorder.finish();
  }
  read.reset();
  EXPECT_NE(second.refusal(6), "");
  const Buffer rest = second.take(5);
  EXPECT_EQ(free_blocks(), 0U);
  graph->replay();
  EXPECT_TRUE(std::all_of(inside, inside + block, [](std::byte each) { return each == std::byte{7}; }));
  graph.reset();
  EXPECT_NO_THROW(second.keep(3));
}

TEST_F(EmulationNeighbours, AContextThatIsGoneIsNoNeighbour) {
  const Pool first;
  {
    const Pool second;
    second.keep(4);
  }
  EXPECT_EQ(free_blocks(), 8U);
  EXPECT_NO_THROW(first.keep(8));
}

// No more than 4 blocks of each are in use, so there is always room.
TEST_F(EmulationNeighbours, ContextsThatRunOutAtTheSameTimeHelpEachOther) {
  const Pool first, second;
  const auto work = [](const Pool& pool, unsigned turn) {
    for (int i = 0; i < 300; ++i, ++turn) {
      if (turn % 3 == 0) {
        pool.keep(4);
      } else if (turn % 3 == 1) {
        const Buffer a = pool.take(2), b = pool.take(2);
      } else {
        const Buffer a = pool.take(1), b = pool.take(1), c = pool.take(1), d = pool.take(1);
      }
    }
  };
  const auto never_fails = [&](const Pool& pool, unsigned turn) { EXPECT_NO_THROW(work(pool, turn)); };
  std::thread other(never_fails, std::cref(second), 1U);
  never_fails(first, 0);
  other.join();
  EXPECT_EQ(first.memory->used() + second.memory->used(), 0U);
}

TEST_F(EmulationNeighbours, AllStandStillUntilOneHasAskedAgain) {
  const Pool first, second;
  std::atomic<bool> starts{false}, ends{false};
  std::optional<Neighbours> neighbours(std::in_place, *first.memory);
  std::thread other([&] {
    starts = true;
    second.keep(1);
    EXPECT_TRUE(ends);
  });
  while (!starts) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it would be over
  ends = true;
  neighbours.reset();
  other.join();
}

// --- Blocks for smaller requests ---

TEST_F(EmulationNeighbours, AKeptBlockServesWhatIsALittleSmaller) {
  const Pool pool;
  pool.keep(3);
  {
    const Buffer smaller = pool.take(2);
    EXPECT_EQ(free_blocks(), 5U);
    EXPECT_EQ(pool.memory->used(), 2 * block) << "what was asked for";
  }
  EXPECT_EQ(pool.memory->available(), 8 * block);
  { const Buffer whole = pool.take(3); }  // it is as large as before
  EXPECT_EQ(free_blocks(), 5U);
  const Buffer much_smaller = pool.take(1);
  EXPECT_EQ(free_blocks(), 4U) << "most of the block would be unused";
}

TEST_F(EmulationNeighbours, TheSmallestBlockThatIsLargeEnoughIsTaken) {
  const Pool pool;
  { const Buffer a = pool.take(3), b(pool.memory, block * 5 / 2); }
  const std::size_t free = emulation::free_device_memory();
  const Buffer smaller = pool.take(2), whole = pool.take(3);
  EXPECT_EQ(emulation::free_device_memory(), free);
}

TEST_F(EmulationNeighbours, ARecordingReusesItsLargerBlocks) {
  const Pool pool;
  Recorder recorder(pool.streams, {pool.memory});
  pool.keep(3);
  pool.keep(2);
  const Buffer whole = pool.take(3);  // it is as large as before
  EXPECT_EQ(free_blocks(), 5U);
}

TEST_F(EmulationNeighbours, ALimitCountsTheWholeBlock) {
  const Pool pool(4 * block);
  pool.keep(3);
  const Buffer smaller = pool.take(2);
  EXPECT_NE(pool.refusal(2), "");
  EXPECT_NO_THROW(pool.keep(1));
}

}  // namespace
}  // namespace hemera::testing
