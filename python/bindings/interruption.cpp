// Ctrl-C: Python's signal handlers run during long calls, and an exception of theirs ends the call. In other
// threads than the main one, an Interruption ends the calls.
#include "hemera/runtime/interruption.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "bindings.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

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

/// Ends the work of one thread when another thread asks for it. What is not atomic is guarded by the
/// interpreter lock.
class Interruption {
 public:
  /// The result of work(). Work that is asked to end raises KeyboardInterrupt: between two of Python's
  /// instructions, or inside of a call of the core, as Ctrl-C does in the main thread.
  nb::object run(const nb::typed<nb::callable, nb::object()>& work) {
    if (requested_) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw nb::python_error();
    }
    const Scope scope(*this);
    return work();
  }

  void request() {
    requested_ = true;
    if (thread_ != 0) PyThreadState_SetAsyncExc(thread_, PyExc_KeyboardInterrupt);
  }

  /// Whether the work of this thread is to end.
  static bool is_requested_here() { return current != nullptr && current->requested_; }
  static bool runs_here() { return current != nullptr; }

 private:
  struct Scope {
    explicit Scope(Interruption& given) : own(given), before(current) {
      own.thread_ = PyThread_get_thread_ident();
      current = &own;
    }
    ~Scope() {
      current = before;
      // An exception that has not been raised yet would be raised in the thread's next work.
      PyThreadState_SetAsyncExc(own.thread_, nullptr);
      own.thread_ = 0;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Interruption& own;
    Interruption* before;
  };

  static thread_local constinit Interruption* current;

  std::atomic<bool> requested_ = false;
  unsigned long thread_ = 0;  // that runs the work; 0: none
};

thread_local constinit Interruption* Interruption::current = nullptr;

bool handlers_raised() {
  if (Interruption::runs_here()) return Interruption::is_requested_here();
  if (!may_run_handlers()) return false;
  const AcquiredGil acquire;
  if (raised() == nullptr && PyErr_CheckSignals() != 0) raised() = std::make_unique<nb::python_error>();
  return raised() != nullptr;
}

void translate_interruption(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const runtime::Interrupted&) {
    if (Interruption::runs_here()) return PyErr_SetNone(PyExc_KeyboardInterrupt);
    std::exchange(raised(), nullptr)->restore();
  }
}

}  // namespace

void bind_interruption(nb::module_& m) {
  nb::class_<Interruption>(m, "Interruption")
      .def(nb::init<>())
      .def("run", &Interruption::run, "work"_a)
      .def("request", &Interruption::request);
  nb::register_exception_translator(translate_interruption);
  runtime::set_interrupt_check(handlers_raised);
}

}  // namespace hemera::python
