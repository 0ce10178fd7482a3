#include "hemera/runtime/thread_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/interruption.hpp"
#include "runtime/tuning.hpp"

namespace hemera::runtime {
namespace {

// More than any machine has processors for: a mistake.
constexpr int largest_number = 4096;

using Clock = std::chrono::steady_clock;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

thread_local bool inside_loop = false;

}  // namespace

int available_processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// One loop: threads take iterations from `next` until none is left.
struct ThreadPool::Loop {
  // body(part, i, slot); without parts, part is 0.
  const std::function<void(std::size_t, std::size_t, std::size_t)>* body;
  std::size_t count;
  std::span<const LoopPart> parts;
  std::vector<std::atomic<std::size_t>> left;  // [part]: iterations that have not ended

  int places = 0;  // workers that may join
  alignas(64) std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> next_slot{0};
  alignas(64) std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  // The loop of a thread; one of them asks whether to go on.
  void work(bool asks, Workers& workers);
  // The whole loop, in order.
  void work_alone() const;
};

// Threads of one process, waiting for loops.
//
// A loop is posted: its post points to it, and its bit in `open` says that workers may join. A worker is one
// of the post's users first and then looks at the bit again; who posted the loop takes the bit away and then
// waits until there are no users. So either the worker sees that the loop has ended, or it is waited for.
struct ThreadPool::Workers {
  static constexpr std::size_t most_posts = 64;  // loops at once; others run on their callers alone

  struct alignas(64) Post {
    std::atomic<int> users{0};
    std::atomic<int> places{0};  // workers that may still join
    Loop* loop = nullptr;
  };

  alignas(64) std::atomic<std::uint64_t> open{0};
  alignas(64) std::atomic<std::uint64_t> taken{0};
  std::atomic<int> spinning{0};
  std::atomic<int> sleeping{0};
  std::atomic<int> waiting{0};
  std::atomic<int> done_without{0};  // those that sleep, in threads' worth of work
  std::atomic<bool> stopping{false};
  std::array<Post, most_posts> posts;
  std::mutex mutex;  // of the conditions; what they tell is atomic
  std::condition_variable work_ready;
  std::condition_variable progress;
  bool spins = false;
  std::vector<std::thread> threads;
  const unsigned generation = fork_generation();

  // Starts as many of `wanted` threads as the system lets; nothing, or why it let no more.
  std::optional<std::system_error> start(int wanted) {
    spins = wanted < available_processors();
    threads.reserve(static_cast<std::size_t>(wanted));
    try {
      for (int i = 0; i < wanted; ++i) threads.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      return error;
    }
    return {};
  }

  ~Workers() {
    stopping = true;
    wake(static_cast<int>(threads.size()));
    for (std::thread& thread : threads) thread.join();
  }

  // Whether `done` came true while this thread kept looking.
  template <typename Done>
  bool spin_until(const Done& done) const {
    if (!spins) return done();
    const auto begin = Clock::now();
    for (;;) {
      for (int i = 0; i < tuning::looks_between_yields; ++i) {
        if (done()) return true;
        pause();
      }
      const auto before = Clock::now();
      if (before - begin > tuning::longest_spin) return false;
      std::this_thread::yield();
      // Others want this processor.
      if (Clock::now() - before > tuning::longest_yield) return done();
    }
  }

  // Waits until `done`, which something that calls `tell` makes true.
  template <typename Done>
  void wait_until(const Done& done) {
    if (spin_until(done)) return;
    std::unique_lock lock(mutex);
    ++waiting;
    progress.wait(lock, done);
    --waiting;
  }

  void tell() {
    if (waiting == 0) return;
    { const std::lock_guard lock(mutex); }
    progress.notify_all();
  }

  // Wakes up to `count` workers that sleep.
  void wake(int count) {
    count = std::min(count, sleeping.load());
    if (count <= 0) return;
    { const std::lock_guard lock(mutex); }
    if (count > tuning::woken_by_one && !stopping) count = tuning::woken_by_one;  // who wake others in turn
    for (int i = 0; i < count; ++i) work_ready.notify_one();
  }

  // Whether a loop that is worth this many threads (0: all) is to wake those that sleep.
  bool is_worth_waking(int threads_worth) {
    if (threads_worth > 0 &&
        (done_without += std::min(threads_worth, tuning::worth_waking)) < tuning::worth_waking) {
      return false;
    }
    done_without = 0;
    return true;
  }

  // Takes a post for the loop, if one is free, and lets workers join; wakes those that sleep, or not.
  std::optional<std::size_t> post(Loop& loop, bool wakes) {
    std::uint64_t known = taken;
    do {
      if (known == ~std::uint64_t{0}) return {};
    } while (!taken.compare_exchange_weak(known, known | (known + 1)));
    const auto number = static_cast<std::size_t>(std::countr_one(known));
    posts[number].loop = &loop;
    posts[number].places = loop.places;
    open.fetch_or(bit(number));
    if (wakes) wake(loop.places - spinning);
    return number;
  }

  // Ends when no worker is inside the loop any more.
  void withdraw(std::size_t number) {
    open.fetch_and(~bit(number));
    wait_until([&] { return posts[number].users == 0; });
    taken.fetch_and(~bit(number));
  }

  static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number; }

  // Works on a loop that is open; false if there was none any more.
  bool help() {
    const std::uint64_t known = open;
    if (known == 0) return false;
    const auto number = static_cast<std::size_t>(std::countr_zero(known));
    Post& post = posts[number];
    if (post.places <= 0) return false;  // many may look, and few are wanted
    ++post.users;
    bool joined = false;
    if ((open & bit(number)) != 0) {
      const int places = post.places.fetch_sub(1);
      if (places == 1) open.fetch_and(~bit(number));
      joined = places > 0;
      if (joined) {
        post.loop->work(false, *this);
        open.fetch_and(~bit(number));
      }
    }
    if (--post.users == 0) tell();
    return joined;
  }

  void run() {
    inside_loop = true;
    const auto called = [this] { return open != 0 || stopping; };
    bool looks = false;  // since it worked or was woken, until it sleeps
    while (!stopping) {
      if (help()) looks = true;
      if (looks) {
        ++spinning;
        const bool found = spin_until(called);
        --spinning;
        if (found) continue;
      }
      std::unique_lock lock(mutex);
      ++sleeping;
      work_ready.wait(lock, called);
      --sleeping;
      looks = true;
      lock.unlock();
      if (open != 0) wake(tuning::woken_by_one);
    }
  }
};

void ThreadPool::Loop::work(bool asks, Workers& workers) {
  std::size_t slot = 0;
  std::size_t part = 0;
  std::size_t first = 0;  // of the part
  std::size_t ended = 0;  // parts, of those before it
  for (std::size_t i = next.fetch_add(1), done = 0; i < count; i = next.fetch_add(1), ++done) {
    if (failed.load(std::memory_order_relaxed)) return;
    if (done == 0) slot = next_slot.fetch_add(1);
    if (!parts.empty()) {
      while (i - first >= parts[part].count) first += parts[part++].count;
      // Whoever took the iterations before this one never waits for it.
      for (; ended < parts[part].after; ++ended) {
        if (left[ended] == 0) continue;
        workers.wait_until([&] { return left[ended] == 0 || failed; });
        if (failed) return;
      }
    }
    try {
      if (asks) throw_if_interrupted();
      (*body)(part, i - first, slot);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      failed = true;
      workers.tell();
    }
    if (!parts.empty() && left[part].fetch_sub(1) == 1) workers.tell();
  }
}

void ThreadPool::Loop::work_alone() const {
  const LoopPart whole{.count = count};
  const std::span<const LoopPart> all = parts.empty() ? std::span(&whole, 1) : parts;
  for (std::size_t part = 0; part < all.size(); ++part) {
    for (std::size_t i = 0; i < all[part].count; ++i) {
      // Inside a loop a lock may be held.
      if (!inside_loop) throw_if_interrupted();
      (*body)(part, i, 0);
    }
  }
}

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_processors()) {
  if (threads < 0 || threads > largest_number) {
    throw ParameterError(std::to_string(threads) + " threads: from 1 to " + std::to_string(largest_number) +
                         " are possible, and 0 means one for each processor");
  }
  auto workers = std::make_unique<Workers>();
  if (const auto error = workers->start(threads_ - 1)) {
    const auto started = static_cast<int>(workers->threads.size()) + 1;
    if (threads != 0) {
      throw DeviceError("only " + std::to_string(started) + " of " + std::to_string(threads) +
                        " threads could be started (" + error->code().message() +
                        "); ask for fewer, or raise the limit of the process (ulimit -u, -v)");
    }
    threads_ = started;
  }
  workers_ = workers.release();
}

ThreadPool::~ThreadPool() {
  Workers* workers = workers_.load();
  // In a forked child its threads do not exist, and can not be joined: what remains of them is left alone.
  if (workers->generation == fork_generation()) delete workers;
}

ThreadPool::Workers& ThreadPool::workers() {
  Workers* known = workers_.load(std::memory_order_acquire);
  if (known->generation == fork_generation()) return *known;
  // The first loop in a forked child: it gets threads of its own, fewer where the system lets no more.
  auto made = std::make_unique<Workers>();
  static_cast<void>(made->start(threads_ - 1));
  if (workers_.compare_exchange_strong(known, made.get())) return *made.release();
  return *known;  // another thread of the child was quicker
}

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for_slots(count, [&body](std::size_t i, std::size_t) { body(i); });
}

void ThreadPool::parallel_for_slots(std::size_t count,
                                    const std::function<void(std::size_t, std::size_t)>& body,
                                    int most_threads) {
  const std::function<void(std::size_t, std::size_t, std::size_t)> whole =
      [&body](std::size_t, std::size_t i, std::size_t slot) { body(i, slot); };
  Loop loop{.body = &whole, .count = count, .parts = {}, .left = {}};
  run(loop, most_threads);
}

void ThreadPool::parallel_for_parts(std::span<const LoopPart> parts,
                                    const std::function<void(std::size_t, std::size_t)>& body,
                                    int most_threads) {
  const std::function<void(std::size_t, std::size_t, std::size_t)> whole =
      [&body](std::size_t part, std::size_t i, std::size_t) { body(part, i); };
  std::vector<std::atomic<std::size_t>> left(parts.size());
  std::size_t count = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    left[part] = parts[part].count;
    count += parts[part].count;
  }
  Loop loop{.body = &whole, .count = count, .parts = parts, .left = std::move(left)};
  run(loop, most_threads);
}

void ThreadPool::run(Loop& loop, int most_threads) {
  if (loop.count == 0) return;
  const int most = most_threads > 0 ? std::min(threads_, most_threads) : threads_;
  if (most == 1 || loop.count == 1 || inside_loop) return loop.work_alone();
  Workers& helpers = workers();
  loop.places = static_cast<int>(std::min(static_cast<std::size_t>(most), loop.count)) - 1;
  const int awake = helpers.spinning;
  const bool wakes = awake < loop.places && helpers.is_worth_waking(most_threads);
  if (awake == 0 && !wakes) return loop.work_alone();
  const auto number = helpers.post(loop, wakes);
  inside_loop = true;
  loop.work(true, helpers);
  inside_loop = false;
  if (number) helpers.withdraw(*number);
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace hemera::runtime
