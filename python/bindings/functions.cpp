// Circuits: functions of slots, their plans, and approximations.
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/runtime/error.hpp"
#include "owned_array.hpp"
#include "prepared_circuit.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Function;
using circuits::FunctionPlan;
using circuits::FunctionStep;
using circuits::Interval;
using circuits::Polynomial;
using Complex = std::complex<double>;
template <std::size_t dimensions>
using Values = nb::ndarray<const Complex, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

/// Values of shape [input, slot] to values of shape [output, slot].
OwnedArray<Complex> evaluate(const Function& function, const Values<2>& values) {
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
  return to_owned_array(std::move(flat), {outputs, slots});
}

/// The function of coefficients of shape [polynomial, power, number].
Function polynomial(const Values<3>& coefficients, bool chebyshev, double low, double high, double error) {
  const std::span<const Complex> numbers(coefficients.data(), coefficients.size());
  Function function(Polynomial({numbers.begin(), numbers.end()},
                               chebyshev ? circuits::Basis::chebyshev : circuits::Basis::power, {low, high},
                               {.count = coefficients.shape(0), .width = coefficients.shape(2)}));
  function.set_error(error);
  return function;
}

std::pair<OwnedArray<double>, double> coefficients_of(const circuits::Approximation& found) {
  std::vector<double> coefficients;
  for (const Complex& c : found.polynomial.coefficients()) coefficients.push_back(c.real());
  const std::size_t count = coefficients.size();
  return {to_owned_array(std::move(coefficients), {count}), found.error};
}

std::pair<OwnedArray<double>, double> approximate(const circuits::RealFunction& f, double low, double high,
                                                  std::size_t degree, bool minimax) {
  return coefficients_of(circuits::approximate(
      f, {low, high}, degree, {.fit = minimax ? circuits::Fit::minimax : circuits::Fit::interpolation}));
}

std::pair<OwnedArray<double>, double> approximate_within(const circuits::RealFunction& f, double low,
                                                         double high, double tolerance) {
  return coefficients_of(circuits::approximate_within(f, {low, high}, tolerance));
}

/// A function that grows value by value.
class Builder {
 public:
  explicit Builder(const std::vector<std::pair<double, double>>& intervals)
      : function_(inputs_of(intervals)) {}

  /// A sum without a level (`is_free`) has whole factors, and terms of one scale: inputs, or a single value.
  /// It is of these at half their scale, so that it has theirs again.
  std::size_t sum(int factor, const std::vector<std::pair<std::size_t, std::size_t>>& products,
                  const std::vector<std::pair<std::size_t, double>>& terms, double constant, bool is_free) {
    Function::Sum sum{.factor = factor, .constant = {constant}};
    for (const auto& [a, b] : products) sum.products.push_back({a, b});
    for (const auto& [value, own] : terms) {
      if (!is_free) {
        sum.terms.push_back({value, {own}});
        continue;
      }
      const auto [doubled, is_new] = doubled_.try_emplace(value);
      if (is_new) doubled->second = function_.add({.terms = {{value, {2}}}, .fraction_bits = 0});
      sum.terms.push_back({doubled->second, {own / 2}});
    }
    if (is_free) sum.fraction_bits = 1;
    return function_.add(std::move(sum));
  }
  std::vector<std::size_t> append(const Function& function, const std::vector<std::size_t>& inputs) {
    return function_.add(function, inputs);
  }
  [[nodiscard]] std::size_t depth(std::size_t value) const { return function_.depth_of(value); }
  [[nodiscard]] Function finish(std::size_t output, double error, double largest) const {
    Function function = function_;
    function.set_outputs({output});
    function.set_error(error);
    function.set_largest({largest});
    return function;
  }

 private:
  static std::vector<Interval> inputs_of(const std::vector<std::pair<double, double>>& intervals) {
    std::vector<Interval> inputs;
    for (const auto& [low, high] : intervals) inputs.push_back({low, high});
    return inputs;
  }

  Function function_;
  std::map<std::size_t, std::size_t> doubled_;  // by value: twice it at half its scale
};

void bind_makers(nb::module_& m) {
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
  bind_real("silu", &circuits::silu);
  bind_real("softplus", &circuits::softplus);
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
  const auto bind_bent = [&m](const char* name, Function (*make)(const Interval&, double)) {
    m.def(
        name,
        [make](double low, double high, double tolerance) {
          return make({low, high}, tolerance);
        },
        "low"_a, "high"_a, "tolerance"_a, ReleaseGil());
  };
  bind_bent("absolute", &circuits::absolute);
  bind_bent("relu", &circuits::relu);
  m.def(
      "leaky_relu",
      [](double low, double high, double slope, double tolerance) {
        return circuits::leaky_relu({low, high}, slope, tolerance);
      },
      "low"_a, "high"_a, "slope"_a, "tolerance"_a, ReleaseGil());
  m.def(
      "divide",
      [](std::pair<double, double> x, std::pair<double, double> y, double tolerance) {
        return circuits::divide({x.first, x.second}, {y.first, y.second}, tolerance);
      },
      "x"_a, "y"_a, "tolerance"_a, ReleaseGil());
  m.def("sign", &circuits::sign, "gap"_a, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def("compare", &circuits::compare, "gap"_a, "tolerance"_a, "largest"_a, ReleaseGil());
  m.def("maximum", &circuits::maximum, "tolerance"_a, "largest"_a, ReleaseGil());
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
      .def_prop_ro("bounds", &Function::bounds)
      .def("evaluate", &evaluate, "values"_a)
      .def_prop_ro("is_unbounded", &Function::is_unbounded)
      .def(
          "stages",
          [](const Function& self) {
            using Values = std::vector<std::size_t>;
            std::vector<std::tuple<Values, Values, std::vector<Function>>> stages;
            for (const auto& [function, inputs, outputs] : circuits::stages_of(self)) {
              std::vector<Function> each(outputs.size(), function);
              for (std::size_t i = 0; i < each.size(); ++i) {
                each[i].set_outputs({function.outputs()[i]});
                each[i].set_largest({function.largest()[i]});
              }
              stages.emplace_back(inputs, outputs, std::move(each));
            }
            return stages;
          },
          ReleaseGil())
      .def(
          "require_in_intervals",
          [](const Function& self, const std::vector<const rlwe::Ciphertext*>& inputs) {
            std::vector<double> largest;
            for (const rlwe::Ciphertext* input : inputs) largest.push_back(input->meta.largest);
            self.require_in_intervals(largest);
          },
          "inputs"_a);

  nb::class_<Builder>(m, "FunctionBuilder")
      .def(nb::init<const std::vector<std::pair<double, double>>&>(), "intervals"_a)
      .def("sum", &Builder::sum, "factor"_a, "products"_a, "terms"_a, "constant"_a, "is_free"_a)
      .def("append", &Builder::append, "function"_a, "inputs"_a)
      .def("depth", &Builder::depth, "value"_a)
      .def("finish", &Builder::finish, "output"_a, "error"_a, "largest"_a);

  nb::class_<FunctionStep>(m, "FunctionStep")
      .def_ro("level", &FunctionStep::level)
      .def_ro("scale", &FunctionStep::scale)
      .def_ro("result_level", &FunctionStep::result_level)
      .def_ro("result_scale", &FunctionStep::result_scale)
      .def_prop_ro("products", [](const FunctionStep& self) { return self.products.size(); })
      .def_prop_ro("terms", [](const FunctionStep& self) { return self.terms.size(); });

  nb::class_<FunctionPlan, circuits::Plan> plan(m, "FunctionPlan");
  plan.def_prop_ro("steps", &FunctionPlan::steps);
  bind_prepared<circuits::PreparedFunction, FunctionPlan, Ciphertexts>(m, "PreparedFunction", plan);

  m.def("polynomial", &polynomial, "coefficients"_a, "chebyshev"_a, "low"_a, "high"_a, "error"_a);
  m.def("approximate", &approximate, "f"_a, "low"_a, "high"_a, "degree"_a, "minimax"_a);
  m.def("approximate_within", &approximate_within, "f"_a, "low"_a, "high"_a, "tolerance"_a);
  bind_makers(m);
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
      "finished",
      [](const rlwe::Ciphertext& a) {
        const rlwe::Metadata meta = a.context->scales().finished(a.meta).meta;
        return std::pair(meta.level, double{meta.scale});
      },
      "a"_a);
}

}  // namespace hemera::python
