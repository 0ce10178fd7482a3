#include "hemera/runtime/warning.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "hemera/runtime/fork.hpp"

namespace hemera {
namespace {

void print_first(const Warning& warning) {
  static std::array<std::atomic_flag, 2> told;
  if (told[static_cast<std::size_t>(warning.kind)].test_and_set()) return;
  std::fprintf(stderr,
               "hemera: warning: %s. (Further ones of this kind are not printed; set_warning_handler.)\n",
               warning.text.c_str());
}

struct Handler {
  runtime::ForkSafeMutex mutex;
  std::shared_ptr<const WarningHandler> function = std::make_shared<const WarningHandler>(print_first);
  std::atomic<bool> is_set{true};
};

// It outlives whatever warns at the end of a process.
Handler& handler_of_process() {
  static Handler& handler = *new Handler;
  return handler;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  Handler& own = handler_of_process();
  const bool is_set = static_cast<bool>(handler);
  auto next = std::make_shared<const WarningHandler>(std::move(handler));
  const std::lock_guard lock(own.mutex);
  own.is_set = is_set;
  std::swap(own.function, next);
  return *next;
}

bool has_warning_handler() noexcept { return handler_of_process().is_set.load(std::memory_order_relaxed); }

void warn(Warning::Kind kind, const std::string& text) {
  Handler& own = handler_of_process();
  std::shared_ptr<const WarningHandler> function;
  {
    const std::lock_guard lock(own.mutex);
    function = own.function;
  }
  // Without the lock: it may warn, or set another handler.
  if (*function) (*function)({kind, text});
}

}  // namespace hemera
