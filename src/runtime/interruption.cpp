#include "hemera/runtime/interruption.hpp"

#include <chrono>

namespace hemera::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The least time between two questions: a check may have to wait for a lock that other threads use.
std::atomic<std::chrono::milliseconds> least_interval{};

thread_local Clock::time_point next_question{};

}  // namespace

namespace detail {

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local constinit int uninterrupted_scopes = 0;

void ask_for_interruption(InterruptCheck check) {
  if (uninterrupted_scopes != 0) return;
  if (Clock::now() < next_question) return;
  const bool interrupted = check();
  next_question = Clock::now() + least_interval.load(std::memory_order_relaxed);
  if (interrupted) throw Interrupted();
}

}  // namespace detail

void set_interrupt_check(InterruptCheck check, std::chrono::milliseconds interval) noexcept {
  least_interval.store(interval, std::memory_order_relaxed);
  detail::interrupt_check.store(check, std::memory_order_relaxed);
}

}  // namespace hemera::runtime
