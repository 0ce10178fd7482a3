// Evaluators: one class for the three schemes.
#include "hemera/rlwe/evaluator.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Ciphertext;
using rlwe::Evaluator;
using rlwe::Plaintext;

EvaluatorHandle make_evaluator(const rlwe::EvaluationKeys& keys, bool lazy) {
  return {any_scheme::make_evaluator(keys.context, keys,
                                     lazy ? rlwe::Relinearization::lazy : rlwe::Relinearization::eager)};
}

// The operands of the evaluator's scheme.
rlwe::Scalar scalar(const EvaluatorHandle& self, std::complex<double> value, std::int64_t integer) {
  if (self.evaluator->context()->scheme() == rlwe::Scheme::ckks) return value;
  return integer;
}

}  // namespace

const ckks::Evaluator& ckks_evaluator(const EvaluatorHandle& handle) {
  const auto* ckks = dynamic_cast<const ckks::Evaluator*>(handle.evaluator.get());
  if (ckks == nullptr) throw MismatchError("circuits are for CKKS; the evaluator is of another scheme");
  return *ckks;
}

void bind_evaluator(nb::module_& m) {
  // clang-format off
  nb::class_<EvaluatorHandle>(m, "Evaluator")
      .def("add", [](const EvaluatorHandle& self, const Ciphertext& a, const Ciphertext& b) {
            return self.evaluator->add(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("subtract", [](const EvaluatorHandle& self, const Ciphertext& a, const Ciphertext& b) {
            return self.evaluator->subtract(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("add_inplace", [](const EvaluatorHandle& self, Ciphertext& a, const Ciphertext& b) {
            self.evaluator->add_inplace(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("subtract_inplace", [](const EvaluatorHandle& self, Ciphertext& a, const Ciphertext& b) {
            self.evaluator->subtract_inplace(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("negate_inplace", [](const EvaluatorHandle& self, Ciphertext& a) {
            self.evaluator->negate_inplace(a); }, "a"_a, ReleaseGil())
      .def("add_many", [](const EvaluatorHandle& self, const std::vector<const Ciphertext*>& terms) {
            return self.evaluator->add_many(terms); }, "terms"_a, ReleaseGil())
      .def("add_plain_inplace", [](const EvaluatorHandle& self, Ciphertext& a, const Plaintext& b) {
            self.evaluator->add_plain_inplace(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("subtract_plain_inplace", [](const EvaluatorHandle& self, Ciphertext& a, const Plaintext& b) {
            self.evaluator->subtract_plain_inplace(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("multiply_plain", [](const EvaluatorHandle& self, const Ciphertext& a, const Plaintext& b) {
            return self.evaluator->multiply_plain(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("add_scalar_inplace", [](const EvaluatorHandle& self, Ciphertext& a, std::complex<double> value,
                                    std::int64_t integer) {
            self.evaluator->add_scalar_inplace(a, scalar(self, value, integer)); },
           "a"_a, "value"_a, "integer"_a, ReleaseGil())
      .def("multiply_scalar_inplace", [](const EvaluatorHandle& self, Ciphertext& a, std::complex<double> value,
                                         std::int64_t integer) {
            self.evaluator->multiply_scalar_inplace(a, scalar(self, value, integer)); },
           "a"_a, "value"_a, "integer"_a, ReleaseGil())
      .def("multiply", [](const EvaluatorHandle& self, const Ciphertext& a, const Ciphertext& b) {
            return self.evaluator->multiply(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("square", [](const EvaluatorHandle& self, const Ciphertext& a) {
            return self.evaluator->square(a); }, "a"_a, ReleaseGil())
      .def("dot", [](const EvaluatorHandle& self, const std::vector<const Ciphertext*>& a,
                     const std::vector<const Ciphertext*>& b) {
            return self.evaluator->dot(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("dot_plain", [](const EvaluatorHandle& self, const std::vector<const Ciphertext*>& a,
                           const std::vector<const Plaintext*>& b) {
            return self.evaluator->dot(a, b); }, "a"_a, "b"_a, ReleaseGil())
      .def("relinearize_inplace", [](const EvaluatorHandle& self, Ciphertext& a) {
            self.evaluator->relinearize_inplace(a); }, "a"_a, ReleaseGil())
      .def("power", [](const EvaluatorHandle& self, const Ciphertext& a, std::uint64_t exponent) {
            return self.evaluator->power(a, exponent); }, "a"_a, "exponent"_a, ReleaseGil())
      .def("multiply_many", [](const EvaluatorHandle& self, const std::vector<const Ciphertext*>& factors) {
            return self.evaluator->multiply_many(factors); }, "factors"_a, ReleaseGil())
      .def("rescale", [](const EvaluatorHandle& self, const Ciphertext& a) {
            return self.evaluator->rescale(a); }, "a"_a, ReleaseGil())
      .def("lower_to_level", [](const EvaluatorHandle& self, const Ciphertext& a, std::size_t level) {
            return self.evaluator->lower_to_level(a, level); }, "a"_a, "level"_a, ReleaseGil())
      .def("shrink", [](const EvaluatorHandle& self, const Ciphertext& a) {
            return self.evaluator->shrink(a); }, "a"_a, ReleaseGil())
      .def("rotate", [](const EvaluatorHandle& self, const Ciphertext& a, std::int64_t steps) {
            return self.evaluator->rotate(a, steps); }, "a"_a, "steps"_a, ReleaseGil())
      .def("rotation_plan", [](const EvaluatorHandle& self, std::int64_t steps, const Ciphertext& a) {
            return self.evaluator->rotation_plan(steps, a); }, "steps"_a, "a"_a, ReleaseGil())
      .def("rotate_hoisted", [](const EvaluatorHandle& self, const Ciphertext& a,
                                const std::vector<std::int64_t>& steps) {
            return self.evaluator->rotate_hoisted(a, steps); }, "a"_a, "steps"_a, ReleaseGil())
      .def("conjugate", [](const EvaluatorHandle& self, const Ciphertext& a) {
            return self.evaluator->conjugate(a); }, "a"_a, ReleaseGil())
      .def("sum_slots", [](const EvaluatorHandle& self, const Ciphertext& a) {
            return self.evaluator->sum_slots(a); }, "a"_a, ReleaseGil())
      .def("reencrypt", [](const EvaluatorHandle& self, const Ciphertext& a, const SwitchingKeyHandle& key) {
            return self.evaluator->reencrypt(a, *key.key); }, "a"_a, "key"_a, ReleaseGil());
  // clang-format on

  m.def("make_evaluator", &make_evaluator, "keys"_a, "lazy_relinearization"_a, ReleaseGil());
}

}  // namespace hemera::python
