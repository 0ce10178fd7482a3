// Ctrl-C: Python's signal handlers run during long calls, and an exception of theirs ends the call.
#include "hemera/runtime/interruption.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>
#include <memory>
#include <utility>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "bindings.hpp"

namespace hemera::python {
namespace {

// The exception of a handler, from the call that it ends until Python gets it. Guarded by the interpreter
// lock.
std::unique_ptr<nb::python_error>& raised() {
  static auto* const error = new std::unique_ptr<nb::python_error>;  // never destroyed: Python may have ended
  return *error;
}

// Python runs handlers in the main thread only. This check spares the other threads a wait for the lock.
bool may_run_handlers() {
#if defined(__linux__)
  return ::syscall(SYS_gettid) == ::getpid();
#else
  return true;
#endif
}

bool handlers_raised() {
  if (!may_run_handlers()) return false;
  const AcquiredGil acquire;
  if (raised() == nullptr && PyErr_CheckSignals() != 0) raised() = std::make_unique<nb::python_error>();
  return raised() != nullptr;
}

void translate_interruption(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const runtime::Interrupted&) {
    std::exchange(raised(), nullptr)->restore();
  }
}

}  // namespace

void bind_interruption() {
  nb::register_exception_translator(translate_interruption);
  runtime::set_interrupt_check(handlers_raised);
}

}  // namespace hemera::python
