// The pool of device memory: its limit, and what it gives back to keep it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "runtime/cuda/recording.hpp"
#include "runtime/cuda/stream_memory.hpp"

namespace hemera::testing {
namespace {

using runtime::Buffer;
using runtime::Secrecy;
using runtime::cuda::Recorder;
using runtime::cuda::Recording;
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
  tests::expect_error<OutOfMemoryError>([&] { const Buffer one_more(memory, 1); },
                                        {"under a limit of " + std::to_string(4 * block)});
  EXPECT_EQ(memory->used(), 4 * block);
  buffers.pop_back();
  EXPECT_NO_THROW(buffers.emplace_back(memory, block));
}

TEST(EmulationMemory, PinnedMemoryOfTheHostIsAPoolOfItsOwn) {
  const auto streams = std::make_shared<const Streams>(0);
  const std::size_t pinned = emulation::pinned_blocks().size();
  {
    const auto memory = std::make_shared<StreamMemory>(streams, 0, runtime::cuda::Place::pinned_host);
    const std::size_t before = allocations();
    std::byte* first = nullptr;
    {
      const Buffer buffer(memory, block);
      first = const_cast<std::byte*>(buffer.data());
      EXPECT_TRUE(emulation::is_pinned(first));
      EXPECT_EQ(memory->used(), block);
    }
    EXPECT_EQ(memory->used(), 0U);
    Buffer again(memory, block);
    EXPECT_EQ(again.data(), first) << "kept for reuse";
    EXPECT_EQ(allocations(), before) << "of the device";
    EXPECT_EQ(emulation::pinned_blocks().size(), pinned + 1);
    emulation::refused_pinned_allocations = 2;
    tests::expect_error<OutOfMemoryError>([&] { const Buffer one_more(memory, block); },
                                          {"pinned memory of the host"});
  }
  EXPECT_EQ(emulation::pinned_blocks().size(), pinned) << "given back";
}

TEST(EmulationMemory, ARecordingHasTheWholeLimit) {
  const auto streams = std::make_shared<const Streams>(0);
  const auto memory = std::make_shared<StreamMemory>(streams, 4 * block);
  { const Buffer before(memory, 3 * block); }  // is kept, for others than recordings
  Recorder recorder(streams, {memory});
  EXPECT_NO_THROW(Buffer(memory, 3 * block));
}

TEST(EmulationMemory, ARecordingTakesABlockThatIsTooLargeRatherThanNone) {
  for (const std::size_t limit : {4 * block, std::size_t{0}}) {
    const auto streams = std::make_shared<const Streams>(0);
    const auto memory = std::make_shared<StreamMemory>(streams, limit);
    Recorder recorder(streams, {memory});
    const std::byte* large = nullptr;
    {
      const Buffer first(memory, 4 * block);
      large = first.data();
    }
    if (limit == 0) emulation::refused_allocations = 1;
    const Buffer small(memory, block);
    EXPECT_EQ(small.data(), large);
    if (limit == 0) emulation::refused_allocations = 2;
    EXPECT_THROW(Buffer(memory, block), OutOfMemoryError);
    emulation::refused_allocations = 0;
  }
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
  emulation::refused_allocations = 3;
  EXPECT_THROW(Buffer(memory, 4 * block), OutOfMemoryError);
  emulation::refused_allocations = 0;
}

// What a graph worked in is kept when it ends, counts, and goes back for others.
TEST(EmulationMemory, BlocksOfRecordingsAreKeptAtTheirEnd) {
  for (const bool finished : {true, false}) {
    const auto streams = std::make_shared<const Streams>(0);
    const auto memory = std::make_shared<StreamMemory>(streams, 4 * block);
    {
      Recorder recorder(streams, {memory});
      { const Buffer inside(memory, block); }
      if (finished) static_cast<void>(recorder.finish());
    }
    const std::size_t before = allocations();
    { const Buffer again(memory, block); }
    EXPECT_EQ(allocations(), before) << "it is lost";
    EXPECT_NO_THROW(Buffer(memory, 4 * block));  // fits alone
  }
}

// A recorder's own memory, in which graphs are made by what they allocate, use and release.
struct Graphs {
  std::shared_ptr<const Streams> streams = std::make_shared<const Streams>(0);
  std::shared_ptr<StreamMemory> memory = std::make_shared<StreamMemory>(streams, 4 * block);

  template <typename Body>
  std::unique_ptr<Recording> record(const Body& body) const {
    Recorder recorder(streams, {memory});
    body();
    return recorder.finish();
  }
  [[nodiscard]] Buffer secret() const { return {memory, block, Secrecy::secret}; }
};

bool holds_only(const Buffer& buffer, int value) {
  return std::all_of(buffer.data(), buffer.data() + buffer.size(),
                     [&](std::byte byte) { return std::to_integer<int>(byte) == value; });
}

TEST(EmulationMemory, ABlockOfOneRecordingReleasedInAnotherWaitsForItsOwn) {
  const Graphs graphs;
  Buffer result;
  auto owner = graphs.record([&] { result = graphs.secret(); });
  const std::byte* const place = std::as_const(result).data();
  const auto other = graphs.record([&] {
    result = Buffer();
    const Buffer inside = graphs.secret();
    EXPECT_NE(inside.data(), place) << "the owner's replays write there";
  });
  owner.reset();
  Buffer next = graphs.secret();
  ASSERT_EQ(std::as_const(next).data(), place) << "the block is lost";
  EXPECT_TRUE(holds_only(next, 0)) << "the secret is there yet";
  std::memset(next.data(), 1, block);
  other->replay();
  EXPECT_TRUE(holds_only(next, 1)) << "a graph that never used the block zeroes it";
}

TEST(EmulationMemory, AGraphThatEndsDuringARecordingLeavesNothingInIt) {
  const Graphs graphs;
  Buffer result;
  auto ended = graphs.record([&] { result = graphs.secret(); });
  result = Buffer();
  auto other = graphs.record([&] { ended.reset(); });
  Buffer next = graphs.secret();
  std::memset(next.data(), 1, block);
  other->replay();
  EXPECT_TRUE(holds_only(next, 1));
  other.reset();
  next = Buffer();
  EXPECT_EQ(graphs.memory->used(), 0U);
  EXPECT_NO_THROW(Buffer(graphs.memory, 4 * block)) << "a block is lost";
}

TEST(EmulationMemory, AGraphOfAFailedDeviceGivesItsBlocksBack) {
  const Graphs graphs;
  Buffer lent = graphs.secret(), result;
  auto graph = graphs.record([&] {
    result = graphs.secret();
    EXPECT_NE(std::as_const(lent).data(), nullptr);  // a use
  });
  result = Buffer();
  lent = Buffer();
  EXPECT_EQ(graphs.memory->used(), block);
  emulation::device_fails = true;
  graph.reset();
  emulation::device_fails = false;
  EXPECT_EQ(graphs.memory->used(), 0U);
  EXPECT_NO_THROW(Buffer(graphs.memory, 4 * block)) << "blocks count as taken";
}

TEST(EmulationMemory, WithoutALimitOnlyTheDeviceRefuses) {
  const auto memory = make_memory(0);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 16; ++i) buffers.emplace_back(memory, block);
  EXPECT_THROW(Buffer(memory, std::size_t{1} << 34), OutOfMemoryError);
}

}  // namespace
}  // namespace hemera::testing
