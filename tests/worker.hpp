// A thread that tests give jobs to.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hemera::tests {

/// Runs its jobs one at a time, all in one thread.
class Worker {
 public:
  void run(const std::function<void()>& job) {
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [&] { return job_ == nullptr; });
  }
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ended_ || job_ != nullptr; });
      if (ended_) return;
      (*job_)();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool ended_ = false;
  std::thread thread_{[this] { work(); }};
};

}  // namespace hemera::tests
