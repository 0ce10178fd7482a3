// What fork() leaves to the child: one thread, and whatever the parent's other threads were in the middle of.
#pragma once

#include <mutex>

namespace hemera::runtime {

/// How often the process was forked since the library was loaded. An object that keeps the number from when
/// it was made can tell that it is used in a child, where its threads do not exist, nor what it holds on a
/// device.
[[nodiscard]] unsigned fork_generation() noexcept;

/// A mutex that no thread of the parent holds in a forked child: fork() waits until all of them are free. So
/// what it guards is whole there. For short sections, in which nobody waits for another thread, or forks.
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
