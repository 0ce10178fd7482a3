// Ending long calls on the CPU early: a program says when, and they throw.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace hemera::runtime {

/// Thrown by a call that ends early. It is not an Error: nothing is wrong, and handlers of errors must not go
/// on. Unfinished results are dropped; objects that a call changes in place are unchanged.
class Interrupted final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Returns true if the call that runs in this thread is to end. May take locks, and time.
using InterruptCheck = bool (*)();

/// Makes loops of the CPU call `check` between their iterations, in the calling thread and at most once in
/// `interval`. If it returns true, the rest of the loop is left out, and Interrupted is thrown when no thread
/// works on the loop any more. Applies to the whole process, as signals do. nullptr, the default: no check.
void set_interrupt_check(InterruptCheck check,
                         std::chrono::milliseconds interval = std::chrono::milliseconds(50)) noexcept;

namespace detail {
extern std::atomic<InterruptCheck> interrupt_check;
extern thread_local constinit int uninterrupted_scopes;
void ask_for_interruption(InterruptCheck check);
}  // namespace detail

/// Throws Interrupted if the calling thread is to stop. Without a check it costs a load.
inline void throw_if_interrupted() {
  if (const InterruptCheck check = detail::interrupt_check.load(std::memory_order_relaxed)) {
    detail::ask_for_interruption(check);
  }
}

/// In its scope the calling thread is not interrupted: for changes in place, which must be whole, and while a
/// lock is held.
class Uninterrupted {
 public:
  /// Throws Interrupted if the thread is to stop now.
  Uninterrupted() {
    throw_if_interrupted();
    ++detail::uninterrupted_scopes;
  }
  ~Uninterrupted() { --detail::uninterrupted_scopes; }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace hemera::runtime
