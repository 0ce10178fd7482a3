// The declarations that the files of the extension module share: its topics, and handles of shared objects.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {
class AutomaticBootstraps;
}

namespace hemera::python {

namespace nb = nanobind;

/// Shapes in a text, as rlwe::to_text has them, as tuples: "{2}" is "(2,)".
std::string with_tuples(std::string text);

/// Before Python 3.14, Python unwinds a daemon thread that takes the interpreter lock after the interpreter
/// has ended, which C++ frames do not survive. Here such a thread stops for good instead, as in Python 3.14.
template <typename Take>
auto take_gil(const Take& take) noexcept {
  try {
    return take();
  } catch (...) {
    for (;;) ::pause();
  }
}

/// Without the interpreter lock for a scope.
class ReleasedGil {
 public:
  ReleasedGil() : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    take_gil([this] { PyEval_RestoreThread(thread_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* thread_;
};

/// Holds the interpreter lock for a scope, inside a scope without it.
class AcquiredGil {
 public:
  AcquiredGil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil&) = delete;
  AcquiredGil& operator=(const AcquiredGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Work that touches no Python object runs without the interpreter lock.
using ReleaseGil = nb::call_guard<ReleasedGil>;

/// The handle of a context in Python. (The library passes contexts as shared pointers; a pointer that owned a
/// Python object could not be released without the interpreter lock.)
struct ContextHandle {
  std::shared_ptr<const rlwe::Context> context;
};

struct SwitchingKeyHandle {
  std::shared_ptr<const rlwe::SwitchingKey> key;
};

struct EvaluatorHandle {
  std::shared_ptr<const rlwe::Evaluator> evaluator;
  std::shared_ptr<const circuits::AutomaticBootstraps> automatic = nullptr;  // whose evaluator it is, if any
};

/// The evaluator of a circuit. Throws MismatchError if its scheme is not CKKS.
const ckks::Evaluator& ckks_evaluator(const EvaluatorHandle& handle);

void bind_errors(nb::module_& m);
void bind_interruption(nb::module_& m);
void bind_parameters(nb::module_& m);
void bind_context(nb::module_& m);
void bind_cuda_library(nb::module_& m);
void bind_keys(nb::module_& m);
void bind_ciphertext(nb::module_& m);
void bind_schemes(nb::module_& m);
void bind_evaluator(nb::module_& m);
void bind_device_array(nb::module_& m);
void bind_circuits(nb::module_& m);
void bind_bootstrap(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_linear_transforms(nb::module_& m);
void bind_slot_circuits(nb::module_& m);
void bind_matrix_products(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_io(nb::module_& m);
void bind_interop_openfhe(nb::module_& m);
void bind_interop_seal(nb::module_& m);
void bind_transfer(nb::module_& m);
void bind_multiply(nb::module_& m);
void bind_shared_circuits(nb::module_& m);
void bind_search(nb::module_& m);
void bind_multiparty(nb::module_& m);
void bind_groups(nb::module_& m);

}  // namespace hemera::python
