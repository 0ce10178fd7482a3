// Circuits: what all plans tell, and linear transforms.
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/counted_cost.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/time_estimate.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Cost;
using circuits::KeyNeed;
using circuits::LinearTransform;
using circuits::Plan;
using circuits::PreparedLinearTransform;
using circuits::UnitTimes;
using Complex = std::complex<double>;
using Matrix = nb::ndarray<const Complex, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

LinearTransform linear_transform(const rlwe::Parameters& parameters, const Matrix& matrix, std::size_t slots,
                                 std::optional<std::size_t> level, std::size_t baby_steps, bool fewest_keys) {
  const std::span<const Complex> entries(matrix.data(), matrix.size());
  return {parameters,
          circuits::diagonals_of(entries, matrix.shape(0), matrix.shape(1), slots),
          slots,
          {.level = level, .baby_steps = baby_steps, .fewest_keys = fewest_keys}};
}

std::string kind_of(const KeyNeed& need) {
  if (need.role.to == rlwe::ephemeral_secret) return "to ephemeral";
  if (need.role.from == rlwe::ephemeral_secret) return "from ephemeral";
  return need.role.power == 2 ? "relinearization" : "galois";
}

// Operation, degree, bits, work and seconds.
using TimeRow = std::tuple<std::string, std::size_t, int, double, double>;

std::vector<TimeRow> rows_of(const std::vector<circuits::UnitTime>& times) {
  std::vector<TimeRow> rows;
  for (const circuits::UnitTime& time : times) {
    rows.emplace_back(poly::name(time.operation), time.degree, time.bits, time.work, time.seconds);
  }
  return rows;
}

// Rows of operations that there are none of any more are left out.
std::vector<circuits::UnitTime> times_of(const std::vector<TimeRow>& rows) {
  std::vector<circuits::UnitTime> times;
  for (const auto& [name, degree, bits, work, seconds] : rows) {
    if (const auto operation = poly::operation_named(name))
      times.push_back({*operation, degree, bits, work, seconds});
  }
  return times;
}

/// The same public key, and switching keys that are made when they are asked for: on the device `ledger`.
rlwe::EvaluationKeys asking_keys(const rlwe::EvaluationKeys& keys) {
  rlwe::EvaluationKeys asking;
  asking.context = keys.context;
  asking.public_key = keys.public_key;
  asking.asked = std::make_shared<rlwe::AskedKeys>(keys.context);
  return asking;
}

void bind_plans(nb::module_& m) {
  nb::class_<Cost>(m, "Cost")
      .def_ro("key_products", &Cost::key_products)
      .def_ro("mod_ups", &Cost::mod_ups)
      .def_ro("divisions", &Cost::divisions)
      .def_ro("plain_products", &Cost::plain_products)
      .def_ro("key_bytes", &Cost::key_bytes)
      .def_ro("plaintext_bytes", &Cost::plaintext_bytes)
      .def_ro("products", &Cost::products)
      .def_ro("rescales", &Cost::rescales)
      .def_ro("workspace_bytes", &Cost::workspace_bytes);

  nb::class_<Plan>(m, "Plan")
      .def_prop_ro("level", &Plan::level)
      .def_prop_ro("result_level", &Plan::result_level)
      .def_prop_ro("scale", [](const Plan& self) { return self.ends().scale; })
      .def_prop_ro("result_scale", [](const Plan& self) { return self.ends().result_scale; })
      .def_prop_ro("cost", &Plan::cost, ReleaseGil())
      .def_prop_ro("needed_keys", &Plan::needed_keys, ReleaseGil())
      .def(
          "expected_error",
          [](const Plan& self, std::optional<double> input_error) {
            const auto error = self.expected_error(input_error);
            return std::pair(error.mean, error.worst);
          },
          "input_error"_a.none(), ReleaseGil())
      .def("memory_bytes", &Plan::memory_bytes, "batch"_a)
      .def(
          "require_memory",
          [](const Plan& self, const ContextHandle& context, std::size_t batch) {
            self.require_memory(*context.context, batch);
          },
          "context"_a, "batch"_a)
      .def("generate_keys", &Plan::generate_keys, "secret"_a, ReleaseGil());

  nb::class_<UnitTimes>(m, "UnitTimes")
      .def(
          "__init__",
          [](UnitTimes* self, const std::vector<TimeRow>& rows, double waiting) {
            new (self) UnitTimes(times_of(rows), waiting);
          },
          "rows"_a, "waiting"_a)
      .def("seconds", [](const UnitTimes& self, const Cost& cost) { return self.seconds(cost.entries); });
  m.def(
      "unit_times",
      [](const ContextHandle& context) {
        return rows_of(circuits::unit_times(context.context->ledger()->times()));
      },
      "context"_a);
  m.def(
      "waiting_of",
      [](const std::vector<TimeRow>& rows, const std::vector<const Cost*>& costs, double seconds) {
        poly::Ledger::Entries entries;
        for (const Cost* cost : costs) {
          for (const auto& [entry, calls] : cost->entries) entries[entry] += calls;
        }
        return circuits::waiting_of(times_of(rows), entries, seconds);
      },
      "rows"_a, "costs"_a, "seconds"_a);

  nb::class_<KeyNeed>(m, "KeyNeed", "A switching key that a circuit needs: what it does, and its gadget.")
      .def_prop_ro(
          "power", [](const KeyNeed& self) { return self.role.power; },
          "2 for a relinearization key, 1 for that of a Galois element.")
      .def_prop_ro(
          "kind", &kind_of,
          "\"relinearization\", \"galois\", or \"to ephemeral\" and \"from ephemeral\" of the secret "
          "of a bootstrap.")
      .def_prop_ro(
          "galois_element", [](const KeyNeed& self) { return self.role.galois_element; },
          "The Galois element; 1 for a relinearization key.")
      .def_prop_ro(
          "primes", [](const KeyNeed& self) { return self.gadget.base; },
          "The ciphertext primes that it serves.")
      .def_prop_ro(
          "special_primes", [](const KeyNeed& self) { return self.gadget.special; },
          "Those that it is divided by.")
      .def_prop_ro(
          "digits", [](const KeyNeed& self) { return self.gadget.digits.size(); },
          "Into how many digits ciphertexts are split.")
      .def("__repr__", [](const KeyNeed& self) {
        const std::string kind = kind_of(self);
        const std::string what =
            kind == "galois" ? "Galois element " + std::to_string(self.role.galois_element) : kind;
        return "<KeyNeed of " + what + ", " + std::to_string(self.gadget.base.size()) + " + " +
               std::to_string(self.gadget.special.size()) + " primes, " +
               std::to_string(self.gadget.digits.size()) + " digits>";
      });
}

}  // namespace

void bind_circuits(nb::module_& m) {
  bind_plans(m);
  nb::class_<LinearTransform, Plan>(m, "LinearTransform")
      .def_prop_ro("slots", &LinearTransform::slots)
      .def_prop_ro("level", &LinearTransform::level)
      .def_prop_ro("diagonals", [](const LinearTransform& self) { return self.diagonals().size(); })
      .def_prop_ro("rotations", &LinearTransform::rotations)
      .def(
          "evaluate_clear",
          [](const LinearTransform& self, const std::vector<Complex>& values) {
            return self.evaluate_clear(values);
          },
          "values"_a, ReleaseGil());

  nb::class_<PreparedLinearTransform>(m, "PreparedLinearTransform")
      .def(
          "apply",
          [](const PreparedLinearTransform& self, const EvaluatorHandle& evaluator,
             const rlwe::Ciphertext& vector) { return self(ckks_evaluator(evaluator), vector); },
          "evaluator"_a, "vector"_a, ReleaseGil());

  m.def("linear_transform", &linear_transform, "parameters"_a, "matrix"_a, "slots"_a, "level"_a.none(),
        "baby_steps"_a, "fewest_keys"_a);
  m.def(
      "prepare_linear_transform",
      [](const ContextHandle& context, const LinearTransform& plan) {
        return std::make_unique<PreparedLinearTransform>(context.context, plan);
      },
      "context"_a, "plan"_a, ReleaseGil());
  m.def("asking_keys", &asking_keys, "keys"_a);
  m.def(
      "needs_of",
      [](const rlwe::EvaluationKeys& asking) { return circuits::needs_of(*asking.context, *asking.asked); },
      "asking"_a);
  m.def(
      "generate_needed_keys",
      [](const rlwe::SecretKey& secret, const std::vector<KeyNeed>& needs) {
        return circuits::generate_keys(secret, needs);
      },
      "secret"_a, "needs"_a, ReleaseGil());
  m.def(
      "clear_ledger", [](const ContextHandle& context) { context.context->ledger()->clear(); }, "context"_a);
  m.def(
      "counted_cost",
      [](const ContextHandle& context) {
        return circuits::counted_cost(*context.context, context.context->ledger()->entries());
      },
      "context"_a);
  m.def(
      "rotation_steps",
      [](const rlwe::Parameters& parameters, const std::vector<KeyNeed>& needs) {
        return circuits::rotation_steps(parameters, needs);
      },
      "parameters"_a, "needs"_a);
  m.def(
      "level_of_product",
      [](const rlwe::Ciphertext& a) { return a.context->scales().before_product(a.meta).meta.level; }, "a"_a);
}

}  // namespace hemera::python
