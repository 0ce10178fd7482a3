// Circuits: sums, copies and masks of slots.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "prepared_circuit.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::SlotCircuit;

}  // namespace

void bind_slot_circuits(nb::module_& m) {
  nb::class_<SlotCircuit, circuits::Plan> circuit(m, "SlotCircuit");
  circuit.def_prop_ro("slots", &SlotCircuit::slots)
      .def_prop_ro("rotations", &SlotCircuit::rotations)
      .def(
          "evaluate_clear",
          [](const SlotCircuit& self, const std::vector<std::complex<double>>& values) {
            return self.evaluate_clear(values);
          },
          "values"_a, ReleaseGil());

  bind_prepared<circuits::PreparedSlotCircuit, SlotCircuit, rlwe::Ciphertext>(m, "PreparedSlotCircuit",
                                                                              circuit);

  m.def(
      "inner_sum",
      [](const rlwe::Parameters& parameters, std::size_t slots, std::size_t count, std::size_t stride,
         bool everywhere, std::optional<std::size_t> level, bool fewest_keys, bool own_keys) {
        return SlotCircuit::inner_sum(parameters, slots, {.count = count, .stride = stride}, everywhere,
                                      {.level = level, .fewest_keys = fewest_keys, .own_keys = own_keys});
      },
      "parameters"_a, "slots"_a, "count"_a, "stride"_a, "everywhere"_a, "level"_a.none(), "fewest_keys"_a,
      "own_keys"_a);
  m.def("with_slots", &circuits::with_slots, "ciphertext"_a, "slots"_a, ReleaseGil());
  m.def(
      "replication",
      [](const rlwe::Parameters& parameters, std::size_t slots, std::size_t count, std::size_t stride,
         std::size_t position, bool others_are_zero, std::optional<std::size_t> level, bool fewest_keys,
         bool own_keys) {
        return SlotCircuit::replication(parameters, slots, {.count = count, .stride = stride}, position,
                                        others_are_zero,
                                        {.level = level, .fewest_keys = fewest_keys, .own_keys = own_keys});
      },
      "parameters"_a, "slots"_a, "count"_a, "stride"_a, "position"_a, "others_are_zero"_a, "level"_a.none(),
      "fewest_keys"_a, "own_keys"_a);
  m.def(
      "mask",
      [](const rlwe::Parameters& parameters, std::vector<bool> kept, std::optional<std::size_t> level) {
        return SlotCircuit::mask(parameters, std::move(kept), {.level = level});
      },
      "parameters"_a, "kept"_a, "level"_a.none());
}

}  // namespace hemera::python
