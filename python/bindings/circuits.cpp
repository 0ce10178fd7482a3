// Circuits: the properties of all plans.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/counted_cost.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/circuits/time_estimate.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Cost;
using circuits::KeyNeed;
using circuits::Plan;
using circuits::UnitTimes;

std::string kind_of(const KeyNeed& need) {
  if (rlwe::ephemeral_weight_of(need.role.to)) return "to ephemeral";
  if (rlwe::ephemeral_weight_of(need.role.from)) return "from ephemeral";
  if (rlwe::part_of(need.role)) return "part of the secret";
  if (rlwe::to_block_of(need.role)) return "to a secret in blocks";
  if (rlwe::block_of(need.role)) return "secret in blocks";
  if (need.role.power == 2 && need.role.galois_element != 1) return "turned product";
  return need.role.power == 2 ? "relinearization" : "galois";
}

// A row: operation, degree, bits, work and seconds.
using TimeRow = std::tuple<std::string, std::size_t, int, double, double>;

std::vector<TimeRow> rows_of(const std::vector<circuits::UnitTime>& times) {
  std::vector<TimeRow> rows;
  for (const circuits::UnitTime& time : times) {
    rows.emplace_back(poly::name(time.operation), time.degree, time.bits, time.work, time.seconds);
  }
  return rows;
}

// Leaves out rows of operations that no longer exist.
std::vector<circuits::UnitTime> times_of(const std::vector<TimeRow>& rows) {
  std::vector<circuits::UnitTime> times;
  for (const auto& [name, degree, bits, work, seconds] : rows) {
    if (const auto operation = poly::operation_named(name))
      times.push_back({*operation, degree, bits, work, seconds});
  }
  return times;
}

/// The same public key, and switching keys that are made when they are asked for: on the device `ledger`.
rlwe::EvaluationKeys asking_keys(const rlwe::EvaluationKeys& keys, bool own_products, bool own_rotations) {
  rlwe::EvaluationKeys asking;
  asking.context = keys.context;
  asking.public_key = keys.public_key;
  rlwe::AskedKeys::Choice choice;
  if (own_products) choice = circuits::own_product_keys(keys.context->parameters(), own_rotations);
  asking.asked = std::make_shared<rlwe::AskedKeys>(keys.context, std::move(choice));
  return asking;
}

/// Keys that were asked for, each with the highest level that it is for: by gadgets of their own, and by a
/// level.
using AskedNeeds = std::vector<std::pair<KeyNeed, std::size_t>>;

std::pair<AskedNeeds, AskedNeeds> asked_keys(const rlwe::EvaluationKeys& asking) {
  const rlwe::Context& context = *asking.context;
  AskedNeeds by_gadget, by_level;
  for (const auto& [role, gadget] : asking.asked->gadgets())
    by_gadget.emplace_back(KeyNeed{role, gadget},
                           rlwe::key_context(asking.context, role)->gadget(gadget)->highest_level());
  for (const auto& [role, level] : asking.asked->levels())
    by_level.emplace_back(KeyNeed{role, context.parameters().default_gadget(level)}, level);
  return {std::move(by_gadget), std::move(by_level)};
}

/// A key with the default gadget of a level, or one over its primes alone with at most `special` special
/// primes. power: 2 for a relinearization key.
KeyNeed key_need(const rlwe::Parameters& parameters, std::uint32_t power, std::uint64_t galois_element,
                 std::size_t level, std::optional<std::size_t> special) {
  return {
      {.power = power, .galois_element = galois_element},
      special ? circuits::own_gadget(parameters, power, level, *special) : parameters.default_gadget(level)};
}

// Operation, limbs in and out, limbs of extended digits, digits, batch, components, terms, and how often.
using CallRow = std::tuple<std::string, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t,
                           std::size_t, std::size_t, std::size_t>;

std::vector<CallRow> calls_of(const Cost& cost) {
  std::vector<CallRow> rows;
  for (const auto& [entry, calls] : cost.entries) {
    rows.emplace_back(poly::name(entry.operation), entry.base.size(), entry.target, entry.extended,
                      entry.digits, entry.batch, entry.components, entry.terms, calls);
  }
  return rows;
}

poly::Ledger::Entries entries_of(const std::vector<const Cost*>& costs) {
  poly::Ledger::Entries entries;
  for (const Cost* cost : costs) {
    for (const auto& [entry, calls] : cost->entries) entries[entry] += calls;
  }
  return entries;
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
      .def_ro("workspace_bytes", &Cost::workspace_bytes)
      .def_prop_ro("calls", &calls_of);

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
          [](UnitTimes* self, const std::vector<TimeRow>& rows, double waiting, double least) {
            new (self) UnitTimes(times_of(rows), waiting, least);
          },
          "rows"_a, "waiting"_a, "least"_a = 0.0)
      .def("seconds", [](const UnitTimes& self, const Cost& cost) { return self.seconds(cost.entries); });
  m.def(
      "unit_times",
      [](const ContextHandle& context, bool least) {
        const auto& ledger = context.context->ledger();
        if (ledger == nullptr) throw ParameterError("this context notes no times");
        return rows_of(circuits::unit_times(ledger->take_times(least)));
      },
      "context"_a, "least"_a);
  m.def(
      "waiting_of",
      [](const std::vector<TimeRow>& rows, const std::vector<const Cost*>& costs, double seconds) {
        return circuits::waiting_of(times_of(rows), entries_of(costs), seconds);
      },
      "rows"_a, "costs"_a, "seconds"_a);
  m.def(
      "least_of",
      [](const std::vector<TimeRow>& rows, double waiting, const std::vector<const Cost*>& costs,
         double seconds) { return circuits::least_of(times_of(rows), waiting, entries_of(costs), seconds); },
      "rows"_a, "waiting"_a, "costs"_a, "seconds"_a);

  nb::class_<KeyNeed>(m, "KeyNeed", "A switching key that a circuit needs: its kind and its gadget.")
      .def_prop_ro(
          "power", [](const KeyNeed& self) { return self.role.power; },
          "2 for keys of products, 1 for that of a Galois element.")
      .def_prop_ro("kind", &kind_of,
                   "\"relinearization\", \"galois\", \"to ephemeral\" and \"from ephemeral\" of the secret "
                   "of a bootstrap, \"to a secret in blocks\" and \"secret in blocks\" of one by roots of "
                   "unity, \"turned product\" of a ciphertext and its rotation, or \"part of the secret\" of "
                   "products with packed rows.")
      .def_prop_ro(
          "galois_element", [](const KeyNeed& self) { return self.role.galois_element; },
          "The Galois element; 1 for a relinearization key.")
      .def_prop_ro(
          "primes", [](const KeyNeed& self) { return self.gadget.base; }, "The ciphertext primes of the key.")
      .def_prop_ro(
          "special_primes", [](const KeyNeed& self) { return self.gadget.special; },
          "The special primes, by which a key switch divides.")
      .def_prop_ro(
          "digits", [](const KeyNeed& self) { return self.gadget.digits.size(); },
          "The number of digits of a ciphertext.")
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
  bind_linear_transforms(m);
  m.def("asking_keys", &asking_keys, "keys"_a, "own_products"_a, "own_rotations"_a);
  m.def("asked_keys", &asked_keys, "asking"_a);
  m.def("key_need", &key_need, "parameters"_a, "power"_a, "galois_element"_a, "level"_a,
        "special"_a = nb::none());
  m.def("own_special_primes", &circuits::own_special_primes, "parameters"_a, "need"_a, "level"_a);
  m.def(
      "has_key",
      [](const rlwe::EvaluationKeys& keys, const KeyNeed& need) { return keys.has(need.role, need.gadget); },
      "keys"_a, "need"_a);
  m.def(
      "needs_of",
      [](const rlwe::EvaluationKeys& asking) { return circuits::needs_of(*asking.context, *asking.asked); },
      "asking"_a);
  m.def(
      "generate_needed_keys",
      [](const rlwe::SecretKey& secret, const std::vector<KeyNeed>& needs) {
        return rlwe::generate_needed_keys(secret, needs);
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
