// State that survives fork(). The child has one thread; the parent's other threads may have stopped halfway.
#pragma once

#include <mutex>

namespace hemera::runtime {

/// The number of forks since the library was loaded. An object that keeps the number from its construction
/// can detect its use in a child, where neither its threads nor its memory on a device exist.
[[nodiscard]] unsigned fork_generation() noexcept;

/// A mutex that is free in a forked child: fork() waits until no thread of the parent holds one. So the
/// guarded data is whole there. For short sections that neither wait for another thread nor fork.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class ForkHandlers;

  std::mutex mutex_;
  ForkSafeMutex* previous_ = nullptr;  // of all that are alive
  ForkSafeMutex* next_ = nullptr;
};

}  // namespace hemera::runtime
