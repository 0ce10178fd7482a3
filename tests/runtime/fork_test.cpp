// What a forked child may do with what its parent made.
#include "hemera/runtime/fork.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "child_process.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {
namespace {

using tests::in_child;

class ForkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (tests::sanitized) GTEST_SKIP() << "sanitizers do not follow threads into children";
  }
};

TEST_F(ForkTest, AChildIsOfTheNextGeneration) {
  const unsigned own = fork_generation();
  EXPECT_TRUE(in_child([own] { return fork_generation() == own + 1; }));
  EXPECT_EQ(fork_generation(), own);
}

TEST_F(ForkTest, AChildDropsThePoolOfItsParent) {
  auto pool = std::make_unique<ThreadPool>(3);
  EXPECT_TRUE(in_child([&] {
    pool.reset();
    return true;
  }));
}

TEST_F(ForkTest, AChildsLoopsHaveThreads) {
  ThreadPool pool(3);
  EXPECT_TRUE(in_child([&] {
    // It ends only if three threads take part.
    std::atomic<int> arrived{0};
    pool.parallel_for(3, [&](std::size_t) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    return true;
  }));
  std::atomic<int> calls{0};
  pool.parallel_for(100, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 100);
}

TEST_F(ForkTest, SeveralThreadsOfAChildShareItsPool) {
  ThreadPool pool(3);
  EXPECT_TRUE(in_child([&] {
    std::atomic<int> calls{0};
    std::thread other([&] { pool.parallel_for(1000, [&](std::size_t) { ++calls; }); });
    pool.parallel_for(1000, [&](std::size_t) { ++calls; });
    other.join();
    return calls == 2000;
  }));
}

TEST_F(ForkTest, ForkWaitsForWhoHoldsAMutex) {
  ForkSafeMutex first, second;
  std::atomic<bool> held{false}, forking{false};
  int guarded = 0;
  std::thread holder([&] {
    const std::lock_guard lock(second);
    guarded = 1;
    held = true;
    while (!forking) std::this_thread::yield();
    // Long enough for a fork that does not wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::lock_guard nested(first);
    guarded = 2;
  });
  while (!held) std::this_thread::yield();
  forking = true;
  EXPECT_TRUE(in_child([&] {
    const std::lock_guard lock(second);
    const std::lock_guard nested(first);
    return guarded == 2;
  }));
  holder.join();
}

TEST_F(ForkTest, AChildAllocatesWhileItsParentsThreadsDo) {
  const auto memory = make_host_memory();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) const Buffer buffer(memory, 4096);
  });
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(in_child([&] {
      ::alarm(5);
      const Buffer buffer(memory, 4096);
      return buffer.size() == 4096;
    })) << round;
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace hemera::runtime
