// How long calls on the CPU end early: a program says when, and they throw.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace hemera::runtime {

/// What a call throws that was told to end early. Not an Error: nothing is wrong, and who handles errors must
/// not go on. Results that were being made are dropped, and objects that were to be changed in place are as
/// they were.
class Interrupted final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Whether the call that runs in this thread shall end. May take locks, and take its time.
using InterruptCheck = bool (*)();

/// Has loops of the CPU ask `check` between their iterations, in the thread that made the call and at most
/// once in `interval`: where it says yes, the rest of the loop is left out, and Interrupted is thrown when no
/// thread works on it any more. For the whole process, as signals are; nullptr (the default): nothing is
/// asked.
void set_interrupt_check(InterruptCheck check,
                         std::chrono::milliseconds interval = std::chrono::milliseconds(50)) noexcept;

namespace detail {
extern std::atomic<InterruptCheck> interrupt_check;
extern thread_local constinit int uninterrupted_scopes;
void ask_for_interruption(InterruptCheck check);
}  // namespace detail

/// Throws Interrupted if the calling thread shall stop. Without a check it costs a load.
inline void throw_if_interrupted() {
  if (const InterruptCheck check = detail::interrupt_check.load(std::memory_order_relaxed)) {
    detail::ask_for_interruption(check);
  }
}

/// For its scope the calling thread is not interrupted: for changes in place, which must be whole, and while
/// a lock is held.
class Uninterrupted {
 public:
  /// Throws Interrupted if it shall stop now.
  Uninterrupted() {
    throw_if_interrupted();
    ++detail::uninterrupted_scopes;
  }
  ~Uninterrupted() { --detail::uninterrupted_scopes; }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace hemera::runtime
