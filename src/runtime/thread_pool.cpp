#include "hemera/runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/interruption.hpp"

namespace hemera::runtime {
namespace {

// More than any machine has processors for: a mistake.
constexpr int most_threads = 4096;

// One loop: threads take iterations from `next` until none is left.
struct Loop {
  const std::function<void(std::size_t, std::size_t)>* body;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> next_slot{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  int helpers = 0;  // workers inside work(), guarded by the pool's mutex

  // What a thread does; one of them asks whether to go on.
  void work(bool asks) {
    std::size_t slot = 0;
    for (std::size_t i = next.fetch_add(1), done = 0; i < count; i = next.fetch_add(1), ++done) {
      if (failed.load(std::memory_order_relaxed)) return;
      if (done == 0) slot = next_slot.fetch_add(1);
      try {
        if (asks) throw_if_interrupted();
        (*body)(i, slot);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        failed = true;
      }
    }
  }
};

thread_local bool inside_loop = false;

}  // namespace

int available_processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// Threads of one process, waiting for loops.
struct ThreadPool::Workers {
  std::mutex mutex;
  std::condition_variable work_ready;
  std::condition_variable helper_done;
  std::deque<Loop*> loops;  // loops that may still have iterations to take
  bool stopping = false;
  std::vector<std::thread> threads;
  const unsigned generation = fork_generation();

  // Starts as many of `wanted` threads as the system lets; nothing, or why it let no more.
  std::optional<std::system_error> start(int wanted) {
    threads.reserve(static_cast<std::size_t>(wanted));
    try {
      for (int i = 0; i < wanted; ++i) threads.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      return error;
    }
    return {};
  }

  ~Workers() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work_ready.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void run() {
    inside_loop = true;
    std::unique_lock lock(mutex);
    for (;;) {
      work_ready.wait(lock, [&] { return stopping || !loops.empty(); });
      if (stopping) return;
      Loop* loop = loops.front();
      ++loop->helpers;
      lock.unlock();
      loop->work(false);
      lock.lock();
      const auto position = std::find(loops.begin(), loops.end(), loop);
      if (position != loops.end()) loops.erase(position);
      --loop->helpers;
      helper_done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_processors()) {
  if (threads < 0 || threads > most_threads) {
    throw ParameterError(std::to_string(threads) + " threads: from 1 to " + std::to_string(most_threads) +
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
                                    const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  if (threads_ == 1 || count == 1 || inside_loop) {
    for (std::size_t i = 0; i < count; ++i) {
      // Inside a loop a lock may be held.
      if (!inside_loop) throw_if_interrupted();
      body(i, 0);
    }
    return;
  }
  Workers& helpers = workers();
  Loop loop{.body = &body, .count = count};
  {
    const std::lock_guard lock(helpers.mutex);
    helpers.loops.push_back(&loop);
  }
  helpers.work_ready.notify_all();
  inside_loop = true;
  loop.work(true);
  inside_loop = false;
  std::unique_lock lock(helpers.mutex);
  const auto position = std::find(helpers.loops.begin(), helpers.loops.end(), &loop);
  if (position != helpers.loops.end()) helpers.loops.erase(position);
  helpers.helper_done.wait(lock, [&] { return loop.helpers == 0; });
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace hemera::runtime
