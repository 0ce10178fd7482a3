// What the files of the extension module share: the topics that make it up, and handles of shared objects.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::python {

namespace nb = nanobind;

/// Work that touches no Python object runs without the interpreter lock.
using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

/// A context as Python holds it. (The library passes contexts as shared pointers; a pointer that owned a
/// Python object could not be released without the interpreter lock.)
struct ContextHandle {
  std::shared_ptr<const rlwe::Context> context;
};

struct SwitchingKeyHandle {
  std::shared_ptr<const rlwe::SwitchingKey> key;
};

struct EvaluatorHandle {
  std::shared_ptr<const rlwe::Evaluator> evaluator;
};

void bind_errors(nb::module_& m);
void bind_parameters(nb::module_& m);
void bind_context(nb::module_& m);
void bind_keys(nb::module_& m);
void bind_ciphertext(nb::module_& m);
void bind_schemes(nb::module_& m);
void bind_evaluator(nb::module_& m);
void bind_device_array(nb::module_& m);
void bind_circuits(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_io(nb::module_& m);
void bind_transfer(nb::module_& m);
void bind_multiply(nb::module_& m);

}  // namespace hemera::python
