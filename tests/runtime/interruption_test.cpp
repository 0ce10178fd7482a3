#include "hemera/runtime/interruption.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include "hemera/runtime/thread_pool.hpp"
#include "runtime/host_memory.hpp"

namespace hemera::runtime {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> stop{false};
std::atomic<int> questions{0};
std::atomic<bool> asked_elsewhere{false};
std::thread::id caller;

bool check() {
  ++questions;
  if (std::this_thread::get_id() != caller) asked_elsewhere = true;
  return stop;
}

class Interruption : public testing::Test {
 protected:
  void SetUp() override {
    stop = false;
    questions = 0;
    asked_elsewhere = false;
    caller = std::this_thread::get_id();
    set_interrupt_check(check, 0ms);
  }
  void TearDown() override { set_interrupt_check(nullptr); }
};

// A loop that ends only when it is interrupted, for all practical purposes.
constexpr std::size_t endless = std::size_t{1} << 40;

TEST_F(Interruption, EndsALoopInItsMiddle) {
  for (const int threads : {1, 2, 4}) {
    stop = false;
    ThreadPool pool(threads);
    std::atomic<std::size_t> done{0};
    std::atomic<int> inside{0};
    const auto body = [&](std::size_t) {
      ++inside;
      std::this_thread::sleep_for(100us);
      if (++done == 20) stop = true;
      --inside;
    };
    EXPECT_THROW(pool.parallel_for(endless, body), Interrupted);
    EXPECT_EQ(inside, 0);  // no thread works on it any more
    EXPECT_GE(done, 20U);
    const std::size_t before = done;
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(done, before);
    EXPECT_FALSE(asked_elsewhere);

    stop = false;
    std::atomic<std::size_t> after{0};
    pool.parallel_for(100, [&](std::size_t) { ++after; });
    EXPECT_EQ(after, 100U);
  }
}

TEST_F(Interruption, EndsALoopInPartsWhileThreadsWaitForAPart) {
  const std::array<LoopPart, 3> parts{
      {{.count = 20}, {.count = endless, .after = 1}, {.count = 1, .after = 2}}};
  for (const int threads : {1, 2, 4}) {
    stop = false;
    ThreadPool pool(threads);
    std::atomic<bool> last{false};
    const auto body = [&](std::size_t part, std::size_t i) {
      std::this_thread::sleep_for(100us);
      if (part == 1 && i == 20) stop = true;
      if (part == 2) last = true;
    };
    EXPECT_THROW(pool.parallel_for_parts(parts, body), Interrupted);
    EXPECT_FALSE(last);
  }
}

TEST_F(Interruption, ReachesLoopsInsideALoopOfOne) {
  ThreadPool pool(3);
  const auto outer = [&](std::size_t) {
    pool.parallel_for(endless, [&](std::size_t i) {
      std::this_thread::sleep_for(100us);
      if (i == 20) stop = true;
    });
  };
  EXPECT_THROW(pool.parallel_for(1, outer), Interrupted);
}

TEST_F(Interruption, WaitsForTheEndOfAnUninterruptedScope) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  {
    const Uninterrupted whole;
    EXPECT_EQ(questions, 1);  // before it began
    stop = true;
    pool.parallel_for(100, [&](std::size_t) { ++done; });
  }
  EXPECT_EQ(done, 100);
  EXPECT_EQ(questions, 1);
  EXPECT_THROW(pool.parallel_for(100, [&](std::size_t) { ++done; }), Interrupted);
  EXPECT_THROW(const Uninterrupted whole, Interrupted);
  EXPECT_EQ(questions, 3);
}

// A destructor can not end early, and whoever interrupts is not asked in vain.
TEST_F(Interruption, LeavesTheZeroingOfSecretsAlone) {
  const auto memory = make_host_memory(kept_bytes, 0, std::make_shared<ThreadPool>(3));
  constexpr std::size_t bytes = std::size_t{1} << 20;
  const std::byte* freed = nullptr;
  {
    Buffer secret(memory, bytes, Secrecy::secret);
    std::memset(secret.data(), 0x5a, bytes);
    freed = secret.data();
    stop = true;
  }
  EXPECT_EQ(questions, 0);
  const Buffer next(memory, bytes, Secrecy::secret);
  ASSERT_EQ(next.data(), freed) << "the test needs the block back to look at it";
  EXPECT_TRUE(
      std::all_of(next.data(), next.data() + bytes, [](std::byte value) { return value == std::byte{0}; }));
}

TEST_F(Interruption, AsksSeldom) {
  set_interrupt_check(check, 20ms);
  ThreadPool pool(1);
  pool.parallel_for(1, [](std::size_t) {});
  questions = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::size_t iterations = 0;
  while (questions < 3) pool.parallel_for(1000, [&](std::size_t) { ++iterations; });
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
  EXPECT_GT(iterations, 3U);
}

TEST_F(Interruption, AsksNobodyByDefault) {
  set_interrupt_check(nullptr);
  stop = true;
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.parallel_for(100, [&](std::size_t) { ++done; });
  throw_if_interrupted();
  EXPECT_EQ(done, 100);
  EXPECT_EQ(questions, 0);
}

TEST_F(Interruption, SlotsAreNotSharedAtOneTime) {
  ThreadPool pool(4);
  constexpr std::size_t slots = 3;  // fewer iterations than threads
  for (const std::size_t count : {slots, std::size_t{1000}}) {
    std::array<std::atomic<int>, 4> users{};
    std::atomic<std::size_t> largest{0};
    pool.parallel_for_slots(count, [&](std::size_t, std::size_t slot) {
      EXPECT_LT(slot, users.size());
      EXPECT_EQ(users[slot]++, 0);
      std::this_thread::yield();
      --users[slot];
      for (std::size_t seen = largest; seen < slot && !largest.compare_exchange_weak(seen, slot);) continue;
    });
    EXPECT_LT(largest, count);
  }
}

}  // namespace
}  // namespace hemera::runtime
