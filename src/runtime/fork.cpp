#include "hemera/runtime/fork.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>

namespace hemera::runtime {

/// The mutexes of the process, and what happens to them around fork().
class ForkHandlers {
 public:
  // Never destroyed: a process may fork while it exits.
  static ForkHandlers& instance() {
    static auto* const handlers = new ForkHandlers;
    return *handlers;
  }

  void add(ForkSafeMutex& mutex) {
    const std::lock_guard lock(list_mutex_);
    mutex.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &mutex;
    first_ = &mutex;
  }

  void remove(ForkSafeMutex& mutex) {
    const std::lock_guard lock(list_mutex_);
    (mutex.previous_ != nullptr ? mutex.previous_->next_ : first_) = mutex.next_;
    if (mutex.next_ != nullptr) mutex.next_->previous_ = mutex.previous_;
  }

  [[nodiscard]] unsigned generation() const noexcept { return generation_.load(std::memory_order_relaxed); }

 private:
  ForkHandlers() {
    pthread_atfork([] { instance().before(); }, [] { instance().unlock_until(nullptr); },
                   [] { instance().in_child(); });
  }

  // All or none: holding some while waiting for another could meet a thread that holds this one and waits for
  // those.
  void before() {
    while (!try_lock_all()) sched_yield();
  }

  bool try_lock_all() {
    list_mutex_.lock();
    for (ForkSafeMutex* mutex = first_; mutex != nullptr; mutex = mutex->next_) {
      if (!mutex->try_lock()) {
        unlock_until(mutex);
        return false;
      }
    }
    return true;
  }

  void unlock_until(const ForkSafeMutex* end) {
    for (ForkSafeMutex* mutex = first_; mutex != end; mutex = mutex->next_) mutex->unlock();
    list_mutex_.unlock();
  }

  void in_child() {
    generation_.fetch_add(1, std::memory_order_relaxed);
    unlock_until(nullptr);
  }

  std::mutex list_mutex_;
  ForkSafeMutex* first_ = nullptr;
  std::atomic<unsigned> generation_{0};
};

unsigned fork_generation() noexcept { return ForkHandlers::instance().generation(); }

ForkSafeMutex::ForkSafeMutex() { ForkHandlers::instance().add(*this); }
ForkSafeMutex::~ForkSafeMutex() { ForkHandlers::instance().remove(*this); }

}  // namespace hemera::runtime
