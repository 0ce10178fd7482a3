#include "hemera/runtime/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::runtime {
namespace {

TEST(ThreadPool, RunsEveryIterationOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      pool.parallel_for(count, [&](std::size_t i) { ++calls[i]; });
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(calls[i], 1) << i;
    }
  }
}

TEST(ThreadPool, DefaultsToTheProcessorsOfTheProcess) {
  EXPECT_GE(available_processors(), 1);
  EXPECT_EQ(ThreadPool(0).threads(), available_processors());
}

TEST(ThreadPool, SharesWorkBetweenThreads) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  // Each thread waits until three have come: it ends only if three threads take part.
  std::atomic<int> arrived{0};
  pool.parallel_for(3, [&](std::size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(ThreadPool, EndsWhenItsHelpersHaveEnded) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> helps{false}, ended{false};
    pool.parallel_for(2, [&](std::size_t) {
      if (std::this_thread::get_id() == caller) {
        while (!helps) std::this_thread::yield();
        return;
      }
      helps = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than the caller, who is done
      ended = true;
    });
    EXPECT_TRUE(ended);
  }
}

TEST(ThreadPool, RunsNestedLoopsInPlace) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.parallel_for(2, [&](std::size_t) {
    const auto outer = std::this_thread::get_id();
    pool.parallel_for(8, [&](std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++calls;
      std::this_thread::sleep_for(
          std::chrono::milliseconds(1));  // so that an idle thread could take the next
    });
  });
  EXPECT_EQ(calls, 16);
}

TEST(ThreadPool, ThrowsTheBodysExceptionAndStaysUsable) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (std::size_t failing = 0; failing < 20; ++failing) {
      EXPECT_THROW(pool.parallel_for(failing % 3 == 0 ? failing + 1 : 20,
                                     [&](std::size_t i) {
                                       if (i == failing) throw std::invalid_argument("this one");
                                     }),
                   std::invalid_argument);
      std::atomic<int> calls{0};
      pool.parallel_for(10, [&](std::size_t) { ++calls; });
      ASSERT_EQ(calls, 10);
    }
  }
}

TEST(ThreadPool, RefusesNumbersThatNoMachineHas) {
  for (const int threads : {-1, std::numeric_limits<int>::min(), 4097, std::numeric_limits<int>::max()}) {
    EXPECT_THROW(ThreadPool{threads}, ParameterError) << threads;
  }
}

// Address space for few of the threads' stacks.
bool limit_memory() {
  rlimit limit{};
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  if (::getrlimit(RLIMIT_AS, &limit) != 0) return false;
  limit.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (std::size_t{64} << 20);
  return ::setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST(ThreadPool, ThreadsThatDoNotStartAreAnError) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer has no memory under the limit";
  EXPECT_TRUE(tests::in_child([] {
    if (!limit_memory()) return false;
    try {
      const ThreadPool pool(1000);
    } catch (const DeviceError& error) {
      return std::string(error.what()).find("of 1000 threads could be started") != std::string::npos;
    }
    return false;
  }));
  // A child of fork() makes do with those that start.
  ThreadPool pool(1000);
  EXPECT_TRUE(tests::in_child([&] {
    if (!limit_memory()) return false;
    std::atomic<int> calls{0};
    pool.parallel_for(100, [&](std::size_t) { ++calls; });
    return calls == 100;
  }));
}

TEST(ThreadPool, LetsAsManyThreadsTakePartAsAreAskedFor) {
  ThreadPool pool(6);
  for (int round = 0; round < 50; ++round) {
    for (const int most : {1, 2, 3, 9}) {
      std::mutex mutex;
      std::set<std::thread::id> seen;
      std::atomic<std::size_t> largest{0};
      pool.parallel_for_slots(
          40,
          [&](std::size_t, std::size_t slot) {
            for (std::size_t known = largest; known < slot && !largest.compare_exchange_weak(known, slot);)
              continue;
            std::this_thread::yield();
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
          },
          most);
      EXPECT_LE(seen.size(), static_cast<std::size_t>(most));
      EXPECT_LT(largest, static_cast<std::size_t>(most));
    }
  }
}

TEST(ThreadPool, WakesItsThreadsForWorkThatIsWorthIt) {
  ThreadPool pool(3);  // whose threads sleep before their first loop
  const auto caller = std::this_thread::get_id();
  const auto wakes = [&](int threads_worth) {
    std::atomic<bool> others{false};
    pool.parallel_for_slots(
        3,
        [&](std::size_t, std::size_t) {
          if (std::this_thread::get_id() != caller) others = true;
          // Until somebody comes, or nobody will.
          for (int i = 0; i < 100 && !others; ++i)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        },
        threads_worth);
    return others.load();
  };
  EXPECT_FALSE(wakes(2));
  int loops = 1;
  while (loops < 50 && !wakes(2)) ++loops;
  EXPECT_GT(loops, 5);
  EXPECT_LT(loops, 50);  // many small ones are worth it
  ThreadPool other(3);
  std::atomic<int> arrived{0};
  other.parallel_for(3, [&](std::size_t) {  // ends only if all come
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(ThreadPool, BeginsAPartWhenThoseThatItNeedsHaveEnded) {
  const std::vector<LoopPart> parts = {{.count = 7},
                                       {.count = 0},
                                       {.count = 5, .after = 1},
                                       {.count = 3, .after = 0},
                                       {.count = 9, .after = 3},
                                       {.count = 1, .after = 5}};
  for (const int threads : {1, 2, 4, 9}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 100; ++round) {
      std::vector<std::atomic<std::size_t>> ended(parts.size());
      std::atomic<int> early{0}, outside{0};
      pool.parallel_for_parts(parts, [&](std::size_t part, std::size_t i) {
        if (i >= parts[part].count) ++outside;
        for (std::size_t before = 0; before < parts[part].after; ++before) {
          if (ended[before] != parts[before].count) ++early;
        }
        if (i % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
        ++ended[part];
      });
      EXPECT_EQ(early, 0);
      EXPECT_EQ(outside, 0);
      for (std::size_t part = 0; part < parts.size(); ++part) ASSERT_EQ(ended[part], parts[part].count);
    }
  }
}

TEST(ThreadPool, EndsALoopInPartsWhoseIterationThrew) {
  const std::vector<LoopPart> parts = {{.count = 8}, {.count = 8, .after = 1}, {.count = 8, .after = 2}};
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (std::size_t failing = 0; failing < 3; ++failing) {
      std::atomic<bool> later{false};
      EXPECT_THROW(pool.parallel_for_parts(parts,
                                           [&](std::size_t part, std::size_t i) {
                                             if (part > failing) later = true;
                                             if (part == failing && i == 5) throw std::invalid_argument("5");
                                           }),
                   std::invalid_argument);
      EXPECT_FALSE(later);
    }
    std::atomic<int> calls{0};
    pool.parallel_for_parts(parts, [&](std::size_t, std::size_t) { ++calls; });
    EXPECT_EQ(calls, 24);
  }
}

TEST(ThreadPool, RunsLoopsInPartsInsideALoopInPlace) {
  ThreadPool pool(3);
  const std::vector<LoopPart> parts = {{.count = 2}, {.count = 3, .after = 1}};
  std::atomic<int> calls{0};
  pool.parallel_for(4, [&](std::size_t) {
    const auto outer = std::this_thread::get_id();
    std::size_t last = 0;
    pool.parallel_for_parts(parts, [&](std::size_t part, std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_LE(last, part);
      last = part;
      ++calls;
    });
  });
  EXPECT_EQ(calls, 20);
}

// Processor time of this process.
double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ThreadPool, ItsThreadsSleepWhenThereIsNothingToDo) {
  ThreadPool pool(4);
  std::atomic<int> calls{0};
  pool.parallel_for(100, [&](std::size_t) { ++calls; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_seconds() - before, 0.1);
  pool.parallel_for(100, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 200);
}

TEST(ThreadPool, RunsMoreLoopsAtOnceThanItKeepsTrackOf) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int> inside{0}, calls{0};
  constexpr int many = 80;
  for (int caller = 0; caller < many; ++caller) {
    callers.emplace_back([&] {
      pool.parallel_for(2, [&](std::size_t i) {
        ++calls;
        if (i != 0) return;
        ++inside;  // until all loops have begun
        while (inside < many) std::this_thread::yield();
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 2 * many);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (std::size_t round = 0; round < 200; ++round) {
        std::atomic<std::size_t> sum{0};
        pool.parallel_for(round, [&](std::size_t i) { sum += i; });
        if (sum != round * (round - 1) / 2 && round > 0) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hemera::runtime
