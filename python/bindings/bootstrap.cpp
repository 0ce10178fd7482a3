// Bootstrapping: its parameters, its plans, and evaluators that bootstrap by themselves.
#include "hemera/circuits/bootstrap/bootstrap.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/automatic.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::AutomaticBootstraps;
using circuits::Bootstrap;
using circuits::BootstrapSettings;
using circuits::IntegerBootstrap;
using circuits::PreparedBootstrap;
using circuits::PreparedIntegerBootstrap;
using circuits::StagedFunction;
using Complex = std::complex<double>;

// Shared with the evaluators that bootstrap by it.
struct PreparedHandle {
  std::shared_ptr<const PreparedBootstrap> bootstrap;
};

struct PreparedIntegerHandle {
  std::shared_ptr<const PreparedIntegerBootstrap> bootstrap;
};

const integer::Evaluator& integer_evaluator(const EvaluatorHandle& handle) {
  const auto* evaluator = dynamic_cast<const integer::Evaluator*>(handle.evaluator.get());
  if (evaluator == nullptr) throw MismatchError("the bootstrap is for BFV and BGV; the evaluator is of CKKS");
  return *evaluator;
}

EvaluatorHandle make_refreshing_integer_evaluator(const rlwe::EvaluationKeys& keys, bool lazy,
                                                  const PreparedIntegerHandle& handle) {
  const auto relinearization = lazy ? rlwe::Relinearization::lazy : rlwe::Relinearization::eager;
  auto refresh = PreparedIntegerBootstrap::refresh(handle.bootstrap);
  if (keys.context->scheme() == rlwe::Scheme::bfv) {
    return {std::make_shared<const bfv::Evaluator>(keys.context, keys, relinearization, std::move(refresh))};
  }
  return {std::make_shared<const bgv::Evaluator>(keys.context, keys, relinearization, std::move(refresh))};
}

EvaluatorHandle make_refreshing_evaluator(const rlwe::EvaluationKeys& keys, bool lazy,
                                          const PreparedHandle& handle) {
  const auto relinearization = lazy ? rlwe::Relinearization::lazy : rlwe::Relinearization::eager;
  auto automatic = std::make_shared<const AutomaticBootstraps>(handle.bootstrap, keys, relinearization);
  return {automatic->evaluator(), automatic};
}

// Throws MismatchError if the evaluator does not bootstrap by itself.
const AutomaticBootstraps& automatic(const EvaluatorHandle& handle) {
  if (handle.automatic == nullptr) throw MismatchError("the evaluator does not bootstrap by itself");
  return *handle.automatic;
}

/// The bootstrapped ciphertexts, and for each operand its place among them; None for operands that stay as
/// they are.
using Refreshed = std::pair<std::vector<rlwe::Ciphertext>, std::vector<std::optional<std::size_t>>>;

Refreshed refreshed(const EvaluatorHandle& evaluator, const std::vector<const rlwe::Ciphertext*>& operands,
                    std::size_t levels, const std::vector<double>& magnitudes) {
  circuits::Operands found = automatic(evaluator).refreshed(operands, levels, magnitudes);
  std::vector<std::optional<std::size_t>> places;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_same = found.each[i] == operands[i];
    places.push_back(is_same ? std::nullopt
                             : std::optional<std::size_t>(found.each[i] - found.bootstrapped.data()));
  }
  return {std::move(found.bootstrapped), std::move(places)};
}

// The number of bootstraps, and of those whose values had no declared bound.
std::pair<std::uint64_t, std::uint64_t> bootstraps(const EvaluatorHandle& handle) {
  const auto* exact = dynamic_cast<const integer::Evaluator*>(handle.evaluator.get());
  if (exact != nullptr) return {exact->bootstraps(), 0};
  const auto* evaluator = dynamic_cast<const ckks::Evaluator*>(handle.evaluator.get());
  if (evaluator == nullptr) return {0, 0};
  return {evaluator->bootstraps(), evaluator->undeclared_bootstraps()};
}

// For each matrix: the level where it begins, the numbers of diagonals and of rotations with a key, and
// whether keys are few.
using MatrixFacts = std::tuple<std::size_t, std::size_t, std::size_t, bool>;

std::vector<MatrixFacts> facts(const std::vector<circuits::LinearTransform>& transforms) {
  std::vector<MatrixFacts> result;
  for (const circuits::LinearTransform& transform : transforms) {
    result.emplace_back(transform.level(), transform.diagonals().size(), transform.rotations().size(),
                        transform.has_fewest_keys());
  }
  return result;
}

void bind_integer_bootstrap(nb::module_& m) {
  m.def("integer_bootstrap_preset", &circuits::integer_bootstrap_preset, "name"_a, "terms"_a = 1);
  m.def(
      "integer_parameters_for_bootstrapping",
      [](rlwe::Scheme scheme, std::uint64_t plain_modulus, const BootstrapSettings& settings) {
        return circuits::parameters_for_bootstrapping(scheme, plain_modulus, settings);
      },
      "scheme"_a, "plain_modulus"_a, "settings"_a, ReleaseGil());

  nb::class_<PreparedIntegerHandle>(m, "PreparedIntegerBootstrap")
      .def(
          "apply",
          [](const PreparedIntegerHandle& self, const EvaluatorHandle& evaluator,
             const rlwe::Ciphertext& ciphertext) {
            return (*self.bootstrap)(integer_evaluator(evaluator), ciphertext);
          },
          "evaluator"_a, "ciphertext"_a, ReleaseGil());
  nb::class_<IntegerBootstrap>(m, "IntegerBootstrap")
      .def(
          "__init__",
          [](IntegerBootstrap* self, const rlwe::Parameters& parameters, std::size_t passes, double budget,
             int failure_bits, bool slots_only) {
            new (self) IntegerBootstrap(
                parameters,
                {.passes = passes, .budget = budget, .failure_bits = failure_bits, .slots_only = slots_only});
          },
          "parameters"_a, "passes"_a, "budget"_a, "failure_bits"_a, "slots_only"_a, ReleaseGil())
      .def_prop_ro("shifts", &IntegerBootstrap::shifts)
      .def_prop_ro("result_level", &IntegerBootstrap::result_level)
      .def_prop_ro("ratio_bits", &IntegerBootstrap::ratio_bits)
      .def_prop_ro("precision_bits", &IntegerBootstrap::precision_bits)
      .def_prop_ro("needed_budget", &IntegerBootstrap::needed_budget)
      .def_prop_ro("budget_left", &IntegerBootstrap::budget_left)
      .def_prop_ro("products", &IntegerBootstrap::products)
      .def_prop_ro("failure_log2", &IntegerBootstrap::failure_log2)
      .def_prop_ro("sine_range", [](const IntegerBootstrap& self) { return self.circuit().sine_range(); })
      .def_prop_ro("cost", &IntegerBootstrap::cost)
      .def_prop_ro("needed_keys", &IntegerBootstrap::needed_keys)
      .def("memory_bytes", &IntegerBootstrap::memory_bytes, "batch"_a)
      .def(
          "require_memory",
          [](const IntegerBootstrap& self, const ContextHandle& context, std::size_t batch) {
            self.require_memory(*context.context, batch);
          },
          "context"_a, "batch"_a)
      .def("generate_keys", &IntegerBootstrap::generate_keys, "secret"_a, ReleaseGil())
      .def(
          "prepare",
          [](const IntegerBootstrap& self, const ContextHandle& context) {
            return PreparedIntegerHandle{
                std::make_shared<const PreparedIntegerBootstrap>(context.context, self)};
          },
          "context"_a, ReleaseGil());
  m.def("make_refreshing_integer_evaluator", &make_refreshing_integer_evaluator, "keys"_a,
        "lazy_relinearization"_a, "bootstrap"_a, ReleaseGil());
}

using circuits::BootstrapOrder;

constexpr std::array<std::pair<BootstrapOrder, const char*>, 3> orders{
    {{BootstrapOrder::slots_first, "slots-first"},
     {BootstrapOrder::standard, "standard"},
     {BootstrapOrder::from_coefficients, "from-coefficients"}}};

const char* order_name(BootstrapOrder order) {
  return std::find_if(orders.begin(), orders.end(), [&](const auto& each) { return each.first == order; })
      ->second;
}

BootstrapOrder order_named(const std::string& name) {
  const auto* const found =
      std::find_if(orders.begin(), orders.end(), [&](const auto& each) { return each.second == name; });
  if (found != orders.end()) return found->first;
  throw ParameterError("order must be \"slots-first\", \"standard\" or \"from-coefficients\", not \"" + name +
                       "\"");
}

void bind_settings(nb::module_& m) {
  nb::class_<BootstrapSettings>(m, "BootstrapSettings")
      .def(nb::init<>())
      .def_rw("degree", &BootstrapSettings::degree)
      .def_rw("levels", &BootstrapSettings::levels)
      .def_rw("scale_bits", &BootstrapSettings::scale_bits)
      .def_prop_rw(
          "order", [](const BootstrapSettings& self) { return std::string(order_name(self.order)); },
          [](BootstrapSettings& self, const std::string& order) { self.order = order_named(order); })
      .def_rw("last_bits", &BootstrapSettings::last_bits)
      .def_rw("ratio_bits", &BootstrapSettings::ratio_bits)
      .def_rw("slots_to_coefficients", &BootstrapSettings::slots_to_coefficients)
      .def_rw("coefficients_to_slots", &BootstrapSettings::coefficients_to_slots)
      .def_rw("eval_mod_error", &BootstrapSettings::eval_mod_error)
      .def_rw("constant_bits", &BootstrapSettings::constant_bits)
      .def_rw("sine_range", &BootstrapSettings::sine_range)
      .def_rw("ephemeral_weight", &BootstrapSettings::ephemeral_weight)
      .def_rw("sine_degree", &BootstrapSettings::sine_degree)
      .def_rw("doublings", &BootstrapSettings::doublings)
      .def_rw("arcsine", &BootstrapSettings::arcsine)
      .def_rw("arcsine_bits", &BootstrapSettings::arcsine_bits)
      .def_rw("exponential", &BootstrapSettings::exponential)
      .def_rw("nested_sine", &BootstrapSettings::nested_sine, nb::arg().none())
      .def_rw("blocks", &BootstrapSettings::blocks)
      .def_rw("special_primes", &BootstrapSettings::special_primes)
      .def_rw("digits", &BootstrapSettings::digits)
      .def_prop_rw(
          "secret_weight", [](const BootstrapSettings& self) { return self.secret.weight; },
          [](BootstrapSettings& self, std::size_t weight) { self.secret.weight = weight; })
      .def_rw("security", &BootstrapSettings::security, nb::arg().none());
}

}  // namespace

void bind_bootstrap(nb::module_& m) {
  bind_settings(m);
  m.def("bootstrap_preset", &circuits::bootstrap_preset, "name"_a);
  m.def("check_blocks", &circuits::check_blocks, "settings"_a);
  m.def(
      "run_exponentials",
      [](const ContextHandle& context, std::size_t values) {
        circuits::run_exponentials(*context.context, values);
      },
      "context"_a, "values"_a, ReleaseGil());
  m.def(
      "parameters_for_bootstrapping",
      [](const BootstrapSettings& settings) { return circuits::parameters_for_bootstrapping(settings); },
      "settings"_a, ReleaseGil());

  nb::class_<PreparedHandle>(m, "PreparedBootstrap")
      .def(
          "apply",
          [](const PreparedHandle& self, const EvaluatorHandle& evaluator,
             const rlwe::Ciphertext& ciphertext) {
            return (*self.bootstrap)(ckks_evaluator(evaluator), ciphertext);
          },
          "evaluator"_a, "ciphertext"_a, ReleaseGil());
  nb::class_<Bootstrap, circuits::Plan>(m, "Bootstrap")
      .def(
          "__init__",
          [](Bootstrap* self, const rlwe::Parameters& parameters, std::size_t slots, bool real,
             std::size_t iterations, bool merges_parts, bool joins_parts, std::size_t together,
             std::size_t key_memory_limit, std::size_t sine_range, std::size_t sine_degree,
             std::size_t upload_limit, std::size_t ephemeral_weight) {
            new (self) Bootstrap(parameters, {.slots = slots,
                                              .real = real,
                                              .iterations = iterations,
                                              .merges_parts = merges_parts,
                                              .joins_parts = joins_parts,
                                              .together = together,
                                              .key_memory_limit = key_memory_limit,
                                              .upload_limit = upload_limit,
                                              .sine_range = sine_range,
                                              .sine_degree = sine_degree,
                                              .ephemeral_weight = ephemeral_weight});
          },
          "parameters"_a, "slots"_a, "real"_a, "iterations"_a, "merges_parts"_a, "joins_parts"_a,
          "together"_a, "key_memory_limit"_a, "sine_range"_a, "sine_degree"_a, "upload_limit"_a = 0,
          "ephemeral_weight"_a = rlwe::usual_ephemeral_weight, ReleaseGil())
      .def_prop_ro("slots", &Bootstrap::slots)
      .def_prop_ro("real", &Bootstrap::is_real)
      .def_prop_ro("merges_parts", &Bootstrap::merges_parts)
      .def_prop_ro("joins_parts", &Bootstrap::joins_parts)
      .def_prop_ro("together", &Bootstrap::together)
      .def_prop_ro("result_slots", &Bootstrap::result_slots)
      .def_prop_ro("blocks", &Bootstrap::blocks)
      .def_prop_ro("sine_range", &Bootstrap::sine_range)
      .def_prop_ro("ephemeral_weight", &Bootstrap::ephemeral_weight)
      .def_prop_ro("sine_degree", &Bootstrap::sine_degree)
      .def_prop_ro("doublings", &Bootstrap::doublings)
      .def_prop_ro("factors_log2", &Bootstrap::factors_log2)
      .def_prop_ro("order", [](const Bootstrap& self) { return std::string(order_name(self.order())); })
      .def_prop_ro("is_exponential", &Bootstrap::is_exponential)
      .def_prop_ro("gives_sine", &Bootstrap::gives_sine)
      .def_prop_ro("gives_parts", &Bootstrap::gives_parts)
      .def_prop_ro("ratio", &Bootstrap::ratio)
      .def_prop_ro("failure_log2", &Bootstrap::failure_log2)
      .def("slots_to_coefficients", [](const Bootstrap& self) { return facts(self.slots_to_coefficients()); })
      .def("coefficients_to_slots", [](const Bootstrap& self) { return facts(self.coefficients_to_slots()); })
      .def(
          "expected_precision",
          [](const Bootstrap& self, double magnitude) {
            const circuits::Precision precision = self.expected_precision(magnitude);
            return std::pair(precision.mean_bits, precision.worst_bits);
          },
          "magnitude"_a, ReleaseGil())
      .def(
          "simulate",
          [](const Bootstrap& self, const std::vector<Complex>& values, std::uint64_t seed,
             double magnitude) { return self.simulate(values, seed, magnitude); },
          "values"_a, "seed"_a, "magnitude"_a, ReleaseGil())
      .def(
          "prepare",
          [](const Bootstrap& self, const ContextHandle& context, std::optional<double> magnitude) {
            return PreparedHandle{
                std::make_shared<const PreparedBootstrap>(context.context, self, magnitude)};
          },
          "context"_a, "magnitude"_a.none() = nb::none(), ReleaseGil());

  m.def("make_refreshing_evaluator", &make_refreshing_evaluator, "keys"_a, "lazy_relinearization"_a,
        "bootstrap"_a, ReleaseGil());
  m.def("refreshed", &refreshed, "evaluator"_a, "operands"_a, "levels"_a, "magnitudes"_a, ReleaseGil());
  m.def("bootstraps", &bootstraps, "evaluator"_a);

  nb::class_<StagedFunction>(m, "StagedFunction")
      .def(
          "apply",
          [](const StagedFunction& self, const EvaluatorHandle& evaluator,
             const std::vector<const rlwe::Ciphertext*>& inputs) {
            return automatic(evaluator).apply(self, inputs);
          },
          "evaluator"_a, "inputs"_a, ReleaseGil());
  m.def(
      "staged_function",
      [](const ContextHandle& context, const circuits::Function& function) {
        return std::make_unique<StagedFunction>(context.context, function);
      },
      "context"_a, "function"_a, ReleaseGil());
  bind_integer_bootstrap(m);
}

}  // namespace hemera::python
