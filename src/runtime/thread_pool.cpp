#include "hemera/runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace hemera::runtime {
namespace {

// One loop: threads take iterations from `next` until none is left.
struct Loop {
  const std::function<void(std::size_t)>* body;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  int helpers = 0;  // workers inside work(), guarded by the pool's mutex

  void work() {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        (*body)(i);
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

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work_ready;
  std::condition_variable helper_done;
  std::deque<Loop*> loops;  // loops that may still have iterations to take
  bool stopping = false;
  std::vector<std::thread> workers;

  void run() {
    inside_loop = true;
    std::unique_lock lock(mutex);
    for (;;) {
      work_ready.wait(lock, [&] { return stopping || !loops.empty(); });
      if (stopping) return;
      Loop* loop = loops.front();
      ++loop->helpers;
      lock.unlock();
      loop->work();
      lock.lock();
      const auto position = std::find(loops.begin(), loops.end(), loop);
      if (position != loops.end()) loops.erase(position);
      --loop->helpers;
      helper_done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads : available_processors()), state_(std::make_unique<State>()) {
  for (int i = 1; i < threads_; ++i) {
    state_->workers.emplace_back([this] { state_->run(); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_ready.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  if (threads_ == 1 || count == 1 || inside_loop) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop{.body = &body, .count = count};
  {
    const std::lock_guard lock(state_->mutex);
    state_->loops.push_back(&loop);
  }
  state_->work_ready.notify_all();
  inside_loop = true;
  loop.work();
  inside_loop = false;
  std::unique_lock lock(state_->mutex);
  const auto position = std::find(state_->loops.begin(), state_->loops.end(), &loop);
  if (position != state_->loops.end()) state_->loops.erase(position);
  state_->helper_done.wait(lock, [&] { return loop.helpers == 0; });
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace hemera::runtime
