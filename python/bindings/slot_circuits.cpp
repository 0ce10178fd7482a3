// Circuits: linear transforms, sums, copies and masks of slots.
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/circuits/linear/transform_grid.hpp"
#include "prepared_circuit.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::LinearTransform;
using circuits::LinearTransformOptions;
using circuits::MatrixDiagonals;
using circuits::Plan;
using circuits::PreparedLinearTransform;
using circuits::PreparedTransformGrid;
using circuits::SlotCircuit;
using circuits::TransformGrid;
using circuits::Wrapping;
using Complex = std::complex<double>;
template <typename Number, int axes>
using Array = nb::ndarray<const Number, nb::numpy, nb::ndim<axes>, nb::c_contig, nb::device::cpu>;

template <typename Number, int axes>
std::span<const Number> span_of(const Array<Number, axes>& array) {
  return {array.data(), array.size()};
}

/// The diagonals of real and of complex matrices.
template <typename Number>
void bind_diagonals_of(nb::module_& m, nb::class_<MatrixDiagonals>& diagonals) {
  using circuits::DenseMatrix;
  using circuits::Entries;
  diagonals.def(
      "add",
      [](MatrixDiagonals& self, std::size_t number, const Array<Number, 1>& entries) {
        const std::span<const Number> values = span_of<Number, 1>(entries);
        return self.add(number, std::vector<Number>(values.begin(), values.end()));
      },
      "number"_a, "entries"_a);
  const auto dense = [](const Array<Number, 2>& matrix) {
    return DenseMatrix<Number>{matrix.shape(0), matrix.shape(1), span_of<Number, 2>(matrix)};
  };
  m.def(
      "dense_diagonals",
      [dense](const Array<Number, 2>& matrix, std::size_t slots, const Wrapping& wrapping) {
        return circuits::diagonals_of(dense(matrix), slots, wrapping);
      },
      "matrix"_a, "slots"_a, "wrapping"_a, ReleaseGil());
  m.def(
      "dense_numbers",
      [dense](const Array<Number, 2>& matrix, std::size_t slots) {
        return circuits::diagonal_numbers(dense(matrix), slots);
      },
      "matrix"_a, "slots"_a, ReleaseGil());

  using Positions = Array<std::int64_t, 1>;
  const auto sparse = [](std::size_t rows, std::size_t columns, const Positions& row, const Positions& column,
                         const Array<Number, 1>& value) {
    return Entries<Number>{rows, columns, span_of<std::int64_t, 1>(row), span_of<std::int64_t, 1>(column),
                           span_of<Number, 1>(value)};
  };
  m.def(
      "entry_diagonals",
      [sparse](std::size_t rows, std::size_t columns, const Positions& row, const Positions& column,
               const Array<Number, 1>& value, std::size_t slots, const Wrapping& wrapping) {
        return circuits::diagonals_of(sparse(rows, columns, row, column, value), slots, wrapping);
      },
      "rows"_a, "columns"_a, "row"_a, "column"_a, "value"_a, "slots"_a, "wrapping"_a, ReleaseGil());
  m.def(
      "entry_numbers",
      [sparse](std::size_t rows, std::size_t columns, const Positions& row, const Positions& column,
               const Array<Number, 1>& value, std::size_t slots) {
        return circuits::diagonal_numbers(sparse(rows, columns, row, column, value), slots);
      },
      "rows"_a, "columns"_a, "row"_a, "column"_a, "value"_a, "slots"_a, ReleaseGil());
}

}  // namespace

void bind_linear_transforms(nb::module_& m) {
  nb::class_<LinearTransform, Plan> transform(m, "LinearTransform");
  transform.def_prop_ro("slots", &LinearTransform::vector_slots, "Of the vectors.")
      .def_prop_ro("result_slots", &LinearTransform::slots)
      .def_prop_ro("level", &LinearTransform::level)
      .def_prop_ro("diagonals", [](const LinearTransform& self) { return self.diagonals().size(); })
      .def_prop_ro("rotations", &LinearTransform::rotations)
      .def(
          "evaluate_clear",
          [](const LinearTransform& self, const std::vector<Complex>& values) {
            return self.evaluate_clear(values);
          },
          "values"_a, ReleaseGil());

  bind_prepared<PreparedLinearTransform, LinearTransform, rlwe::Ciphertext>(m, "PreparedLinearTransform",
                                                                            transform);

  nb::class_<TransformGrid, Plan> grid(m, "TransformGrid");
  grid.def_prop_ro("rows", &TransformGrid::rows)
      .def_prop_ro("columns", &TransformGrid::columns)
      .def_prop_ro("slots", &TransformGrid::slots)
      .def_prop_ro("rotations", &TransformGrid::rotations)
      .def(
          "evaluate_clear",
          [](const TransformGrid& self, const std::vector<std::vector<Complex>>& vectors) {
            return self.evaluate_clear(vectors);
          },
          "vectors"_a, ReleaseGil());

  bind_prepared<PreparedTransformGrid, TransformGrid, Ciphertexts>(m, "PreparedTransformGrid", grid);

  nb::class_<Wrapping>(m, "Wrapping")
      .def(
          "__init__",
          [](Wrapping* self, std::size_t result_period, std::size_t vector_period) {
            new (self) Wrapping{result_period, vector_period};
          },
          "result_period"_a, "vector_period"_a)
      .def_ro("result_period", &Wrapping::result_period);
  nb::class_<MatrixDiagonals> matrix_diagonals(m, "MatrixDiagonals");
  matrix_diagonals.def(nb::init<>()).def("__len__", &MatrixDiagonals::size);
  bind_diagonals_of<double>(m, matrix_diagonals);
  bind_diagonals_of<Complex>(m, matrix_diagonals);

  using Steps = std::pair<std::vector<std::size_t>, std::vector<std::size_t>>;
  nb::class_<LinearTransformOptions>(m, "LinearTransformOptions")
      .def(
          "__init__",
          [](LinearTransformOptions* self, std::optional<std::size_t> level, std::size_t baby_steps,
             std::size_t fewest_keys, std::optional<Steps> steps, bool own_keys, std::size_t members) {
            LinearTransformOptions options{.level = level,
                                           .baby_steps = baby_steps,
                                           .members = members,
                                           .fewest_keys = fewest_keys != 0,
                                           .hoisted_steps = std::max<std::size_t>(1, fewest_keys),
                                           .own_keys = own_keys};
            if (steps) {
              options.steps = circuits::RotationSteps{std::move(steps->first), std::move(steps->second)};
            }
            new (self) LinearTransformOptions(std::move(options));
          },
          "level"_a.none(), "baby_steps"_a, "fewest_keys"_a, "steps"_a.none(), "own_keys"_a, "members"_a)
      .def_rw("wrapping", &LinearTransformOptions::wrapping);
  m.def("require_extents", &circuits::require_extents, "rows"_a, "columns"_a, "slots"_a);
  m.def("require_linear_transform", &LinearTransform::require_options, "parameters"_a, "slots"_a,
        "options"_a);
  m.def(
      "cheapest_result_period",
      [](const rlwe::Parameters& parameters, const std::vector<std::size_t>& numbers, std::size_t rows,
         std::size_t slots, const LinearTransformOptions& options) {
        return circuits::cheapest_result_period(parameters, numbers, rows, slots, options);
      },
      "parameters"_a, "numbers"_a, "rows"_a, "slots"_a, "options"_a, ReleaseGil());
  m.def(
      "linear_transform",
      [](const rlwe::Parameters& parameters, MatrixDiagonals& taken, std::size_t slots,
         const LinearTransformOptions& options) {
        return LinearTransform(parameters, std::exchange(taken, {}), slots, options);
      },
      "parameters"_a, "diagonals"_a, "slots"_a, "options"_a, ReleaseGil(),
      "Takes the diagonals away from their object.");
  m.def(
      "transform_grid",
      [](const rlwe::Parameters& parameters, const std::vector<std::vector<MatrixDiagonals*>>& taken,
         std::size_t slots, std::optional<std::size_t> level, bool own_keys) {
        std::vector<std::vector<MatrixDiagonals>> blocks;
        for (const auto& row : taken) {
          auto& own = blocks.emplace_back();
          for (MatrixDiagonals* block : row) own.push_back(std::exchange(*block, {}));
        }
        return TransformGrid(parameters, std::move(blocks), slots, {.level = level, .own_keys = own_keys});
      },
      "parameters"_a, "blocks"_a, "slots"_a, "level"_a.none(), "own_keys"_a, ReleaseGil(),
      "Takes the diagonals away from their objects.");
}

void bind_slot_circuits(nb::module_& m) {
  nb::class_<SlotCircuit, Plan> circuit(m, "SlotCircuit");
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
