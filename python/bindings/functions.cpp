// Circuits: functions of slots, their plans, and approximations.
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Function;
using circuits::FunctionPlan;
using circuits::FunctionStep;
using circuits::Interval;
using circuits::Polynomial;
using circuits::PreparedFunction;
using Complex = std::complex<double>;
template <std::size_t dimensions>
using Values = nb::ndarray<const Complex, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Result = nb::ndarray<nb::numpy, T, nb::c_contig>;

/// A NumPy array that owns the values.
template <typename T>
Result<T> to_array(std::vector<T> values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const nb::capsule owner(owned.get(),
                          [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  owned.release();
  return Result<T>(data, shape.size(), shape.data(), owner);
}

/// From [input, slot] to [output, slot].
Result<Complex> evaluate(const Function& function, const Values<2>& values) {
  const std::size_t slots = values.shape(1);
  std::vector<Complex> flat;
  std::size_t outputs = 0;
  {
    const ReleasedGil release;
    std::vector<std::vector<Complex>> rows;
    for (std::size_t i = 0; i < values.shape(0); ++i) {
      rows.emplace_back(values.data() + i * slots, values.data() + (i + 1) * slots);
    }
    const auto results = function.evaluate(rows);
    outputs = results.size();
    for (const auto& row : results) flat.insert(flat.end(), row.begin(), row.end());
  }
  return to_array(std::move(flat), {outputs, slots});
}

/// Of coefficients [polynomial, power, number].
Function polynomial(const Values<3>& coefficients, bool chebyshev, double low, double high, double error) {
  const std::span<const Complex> numbers(coefficients.data(), coefficients.size());
  Function function(Polynomial({numbers.begin(), numbers.end()},
                               chebyshev ? circuits::Basis::chebyshev : circuits::Basis::power, {low, high},
                               {.count = coefficients.shape(0), .width = coefficients.shape(2)}));
  function.set_error(error);
  return function;
}

std::pair<Result<double>, double> approximate(const circuits::RealFunction& f, double low, double high,
                                              std::size_t degree, bool minimax) {
  const auto found = circuits::approximate(
      f, {low, high}, degree, {.fit = minimax ? circuits::Fit::minimax : circuits::Fit::interpolation});
  std::vector<double> coefficients;
  for (const Complex& c : found.polynomial.coefficients()) coefficients.push_back(c.real());
  const std::size_t count = coefficients.size();
  return {to_array(std::move(coefficients), {count}), found.error};
}

}  // namespace

void bind_functions(nb::module_& m) {
  nb::class_<Function>(m, "Function")
      .def_prop_ro("inputs",
                   [](const Function& self) {
                     std::vector<std::pair<double, double>> intervals;
                     for (const Interval& input : self.inputs()) {
                       intervals.emplace_back(input.low, input.high);
                     }
                     return intervals;
                   })
      .def_prop_ro("outputs", [](const Function& self) { return self.outputs().size(); })
      .def_prop_ro("width", &Function::width)
      .def_prop_ro("is_real", &Function::is_real)
      .def_prop_ro("depth", &Function::depth)
      .def_prop_ro("error", &Function::error)
      .def("evaluate", &evaluate, "values"_a)
      .def_prop_ro("is_unbounded", &Function::is_unbounded)
      .def(
          "require_in_intervals",
          [](const Function& self, const std::vector<const rlwe::Ciphertext*>& inputs) {
            std::vector<double> largest;
            for (const rlwe::Ciphertext* input : inputs) largest.push_back(input->meta.largest);
            self.require_in_intervals(largest);
          },
          "inputs"_a);

  nb::class_<FunctionStep>(m, "FunctionStep")
      .def_ro("level", &FunctionStep::level)
      .def_ro("scale", &FunctionStep::scale)
      .def_ro("result_level", &FunctionStep::result_level)
      .def_ro("result_scale", &FunctionStep::result_scale)
      .def_prop_ro("products", [](const FunctionStep& self) { return self.products.size(); })
      .def_prop_ro("terms", [](const FunctionStep& self) { return self.terms.size(); });

  nb::class_<FunctionPlan, circuits::Plan>(m, "FunctionPlan").def_prop_ro("steps", &FunctionPlan::steps);

  nb::class_<PreparedFunction>(m, "PreparedFunction")
      .def(
          "apply",
          [](const PreparedFunction& self, const EvaluatorHandle& evaluator,
             const std::vector<const rlwe::Ciphertext*>& inputs) {
            return self(ckks_evaluator(evaluator), inputs);
          },
          "evaluator"_a, "inputs"_a, ReleaseGil());

  m.def("polynomial", &polynomial, "coefficients"_a, "chebyshev"_a, "low"_a, "high"_a, "error"_a);
  m.def("approximate", &approximate, "f"_a, "low"_a, "high"_a, "degree"_a, "minimax"_a);
  const auto bind_real = [&m](const char* name, Function (*make)(const Interval&, double)) {
    m.def(
        name,
        [make](double low, double high, double tolerance, std::optional<double> clipped) {
          return clipped ? circuits::clipped(make, {low, high}, tolerance, *clipped)
                         : make({low, high}, tolerance);
        },
        "low"_a, "high"_a, "tolerance"_a, "clipped"_a.none(), ReleaseGil());
  };
  bind_real("sigmoid", &circuits::sigmoid);
  bind_real("hyperbolic_tangent", &circuits::hyperbolic_tangent);
  bind_real("gelu", &circuits::gelu);
  bind_real("exponential", &circuits::exponential);
  bind_real("logarithm", &circuits::logarithm);
  bind_real("inverse", &circuits::inverse);
  bind_real("square_root", &circuits::square_root);
  m.def(
      "clip",
      [](double low, double high, double tolerance, double largest) {
        return circuits::clip({low, high}, tolerance, largest);
      },
      "low"_a, "high"_a, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def("sign", &circuits::sign, "gap"_a, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def("compare", &circuits::compare, "gap"_a, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def("maximum", &circuits::maximum, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def(
      "plan_function",
      [](const rlwe::Parameters& parameters, const Function& function, std::optional<std::size_t> level,
         std::optional<double> scale, std::size_t slots, bool own_keys) {
        return FunctionPlan(parameters, function,
                            {.level = level, .scale = scale, .slots = slots, .own_keys = own_keys});
      },
      "parameters"_a, "function"_a, "level"_a.none(), "scale"_a.none(), "slots"_a, "own_keys"_a,
      ReleaseGil());
  m.def(
      "prepare_function",
      [](const ContextHandle& context, const FunctionPlan& plan) {
        return std::make_unique<PreparedFunction>(context.context, plan);
      },
      "context"_a, "plan"_a, ReleaseGil());
  m.def(
      "finished",
      [](const rlwe::Ciphertext& a) {
        const rlwe::Metadata meta = a.context->scales().finished(a.meta).meta;
        return std::pair(meta.level, meta.scale);
      },
      "a"_a);
}

}  // namespace hemera::python
