// A circuit prepared in a context's memory.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::python {

using Ciphertexts = std::vector<const rlwe::Ciphertext*>;

/// Binds a prepared circuit, `apply(evaluator, operands...)`, and `prepare(context)` of its plan, which makes
/// it.
template <typename Prepared, typename Plan, typename... Operands>
void bind_prepared(nb::module_& m, const char* name, nb::class_<Plan, circuits::Plan>& plan) {
  nb::class_<Prepared>(m, name).def(
      "apply",
      [](const Prepared& self, const EvaluatorHandle& evaluator, const Operands&... operands) {
        return self(ckks_evaluator(evaluator), operands...);
      },
      ReleaseGil());
  plan.def(
      "prepare",
      [](const Plan& self, const ContextHandle& context) {
        return std::make_unique<Prepared>(context.context, self);
      },
      nb::arg("context"), ReleaseGil());
}

}  // namespace hemera::python
