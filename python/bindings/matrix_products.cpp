// Circuits: matrices, encrypted or in the clear, times encrypted vectors and matrices.
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bindings.hpp"
#include "hemera/circuits/linear/matrix_batch_product.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/packed_rows_product.hpp"
#include "hemera/circuits/linear/periodic_transform.hpp"
#include "hemera/circuits/linear/plain_matrix_product.hpp"
#include "hemera/rlwe/integer_matrix.hpp"
#include "prepared_circuit.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::MatrixBatchProduct;
using circuits::MatrixProduct;
using circuits::MatrixVectorProduct;
using circuits::PackedRowsProduct;
using circuits::PeriodicTransform;
using circuits::PlainMatrixProduct;
using Complex = std::complex<double>;
using Entries = nb::ndarray<const Complex, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::span<const Complex> values_of(const Entries& entries) { return {entries.data(), entries.size()}; }

// The methods that both products have.
template <typename Plan>
void bind_plan(nb::class_<Plan, circuits::Plan>& plan) {
  plan.def_prop_ro("rotations", &Plan::rotations)
      .def(
          "evaluate_clear",
          [](const Plan& self, const Entries& left, const Entries& right) {
            return self.evaluate_clear(values_of(left), values_of(right));
          },
          "left"_a, "right"_a);
}

void bind_plain_products(nb::module_& m) {
  nb::class_<PlainMatrixProduct, circuits::Plan> plan(m, "PlainMatrixProduct");
  plan.def(
          "__init__",
          [](PlainMatrixProduct* self, const rlwe::Parameters& parameters, const Matrix<double>& weights,
             std::optional<std::size_t> level, int bits, bool rescaled, std::optional<std::size_t> slots) {
            const ReleasedGil released;
            new (self) PlainMatrixProduct(
                parameters, weights.shape(0), weights.shape(1), {weights.data(), weights.size()},
                {.level = level, .bits = bits, .rescaled = rescaled, .slots = slots});
          },
          "parameters"_a, "weights"_a, "level"_a.none(), "bits"_a, "rescaled"_a, "slots"_a.none())
      .def_prop_ro("factor", &PlainMatrixProduct::factor)
      .def_prop_ro("rounding_of_weights", &PlainMatrixProduct::rounding_of_weights)
      .def_prop_ro("integers", [](const PlainMatrixProduct& self) { return self.integers(); });
  bind_prepared<circuits::PreparedPlainMatrixProduct, PlainMatrixProduct, rlwe::Ciphertext>(
      m, "PreparedPlainMatrixProduct", plan);
  m.def(
      "multiply_matrix",
      [](const Matrix<std::int16_t>& w, const rlwe::Ciphertext& x) {
        const ReleasedGil released;
        return rlwe::multiply_matrix({x.context, w.shape(0), w.shape(1), {w.data(), w.size()}}, x);
      },
      "w"_a, "x"_a);
}

void bind_periodic_transforms(nb::module_& m) {
  nb::class_<PeriodicTransform, circuits::Plan> plan(m, "PeriodicTransform");
  plan.def(
          "__init__",
          [](PeriodicTransform* self, const rlwe::Parameters& parameters,
             const Matrix<std::complex<double>>& weights, std::size_t period,
             std::optional<std::size_t> level, std::size_t baby_steps, bool kept) {
            const ReleasedGil released;
            new (self)
                PeriodicTransform(parameters, weights.shape(0), weights.shape(1),
                                  std::span<const std::complex<double>>(weights.data(), weights.size()),
                                  period, {.level = level, .baby_steps = baby_steps, .kept = kept});
          },
          "parameters"_a, "weights"_a, "period"_a, "level"_a.none(), "baby_steps"_a, "kept"_a)
      .def_prop_ro("baby_steps", [](const PeriodicTransform& self) { return self.baby_steps(); });
  bind_prepared<circuits::PreparedPeriodicTransform, PeriodicTransform, rlwe::Ciphertext>(
      m, "PreparedPeriodicTransform", plan);
}

void bind_packed_products(nb::module_& m) {
  nb::class_<PackedRowsProduct, circuits::Plan> plan(m, "PackedRowsProduct");
  plan.def(
          "__init__",
          [](PackedRowsProduct* self, const rlwe::Parameters& parameters, const Matrix<double>& weights,
             std::size_t vectors, std::optional<std::size_t> level, int bits) {
            const ReleasedGil released;
            new (self)
                PackedRowsProduct(parameters, weights.shape(0), weights.shape(1),
                                  {weights.data(), weights.size()}, vectors, {.level = level, .bits = bits});
          },
          "parameters"_a, "weights"_a, "vectors"_a, "level"_a.none(), "bits"_a)
      .def_prop_ro("parts", &PackedRowsProduct::parts)
      .def_prop_ro("factor", [](const PackedRowsProduct& self) { return self.product().factor(); })
      .def_prop_ro("rounding_of_weights",
                   [](const PackedRowsProduct& self) { return self.product().rounding_of_weights(); })
      .def_prop_ro("weight_bytes",
                   [](const PackedRowsProduct& self) {
                     return self.product().integers().size() * (self.product().bits() == 8 ? 1 : 2);
                   })
      .def_prop_ro("integers", [](const PackedRowsProduct& self) { return self.product().integers(); })
      .def(
          "pack",
          [](const PackedRowsProduct& self, const Entries& matrix) { return self.pack(values_of(matrix)); },
          "matrix"_a)
      .def(
          "unpack",
          [](const PackedRowsProduct& self, const Entries& values, std::size_t rows) {
            return self.unpack(values_of(values), rows);
          },
          "values"_a, "rows"_a);
  bind_prepared<circuits::PreparedPackedRowsProduct, PackedRowsProduct, rlwe::Ciphertext>(
      m, "PreparedPackedRowsProduct", plan);
}

}  // namespace

void bind_matrix_products(nb::module_& m) {
  bind_plain_products(m);
  bind_packed_products(m);
  bind_periodic_transforms(m);
  auto vector_product = nb::class_<MatrixVectorProduct, circuits::Plan>(m, "MatrixVectorProduct");
  bind_plan(vector_product);
  vector_product
      .def(
          "__init__",
          [](MatrixVectorProduct* self, const rlwe::Parameters& parameters, std::size_t rows,
             std::size_t columns, std::optional<std::size_t> level, std::size_t baby_steps, bool own_keys) {
            new (self) MatrixVectorProduct(parameters, rows, columns,
                                           {.level = level, .baby_steps = baby_steps, .own_keys = own_keys});
          },
          "parameters"_a, "rows"_a, "columns"_a, "level"_a.none(), "baby_steps"_a, "own_keys"_a)
      .def_prop_ro("diagonals", &MatrixVectorProduct::diagonals)
      .def_prop_ro("result_slots", &MatrixVectorProduct::result_slots)
      .def(
          "pack",
          [](const MatrixVectorProduct& self, const Entries& matrix) { return self.pack(values_of(matrix)); },
          "matrix"_a);
  bind_prepared<circuits::PreparedMatrixVectorProduct, MatrixVectorProduct, rlwe::Ciphertext,
                rlwe::Ciphertext>(m, "PreparedMatrixVectorProduct", vector_product);

  auto product = nb::class_<MatrixProduct, circuits::Plan>(m, "MatrixProduct");
  bind_plan(product);
  product
      .def(
          "__init__",
          [](MatrixProduct* self, const rlwe::Parameters& parameters, std::size_t size,
             std::optional<std::size_t> level,
             bool packed) { new (self) MatrixProduct(parameters, size, {.level = level, .packed = packed}); },
          "parameters"_a, "size"_a, "level"_a.none(), "packed"_a, ReleaseGil())
      .def_prop_ro("slots", &MatrixProduct::slots)
      .def(
          "pack",
          [](const MatrixProduct& self, const Entries& matrix, bool left) {
            return self.pack(values_of(matrix),
                             left ? MatrixProduct::Side::left : MatrixProduct::Side::right);
          },
          "matrix"_a, "left"_a);
  bind_prepared<circuits::PreparedMatrixProduct, MatrixProduct, rlwe::Ciphertext, rlwe::Ciphertext>(
      m, "PreparedMatrixProduct", product);

  using Side = MatrixBatchProduct::Side;
  nb::class_<MatrixBatchProduct, circuits::Plan> batch_product(m, "MatrixBatchProduct");
  batch_product
      .def(
          "__init__",
          [](MatrixBatchProduct* self, const rlwe::Parameters& parameters, std::size_t size,
             std::optional<std::size_t> level) {
            new (self) MatrixBatchProduct(parameters, size, {.level = level});
          },
          "parameters"_a, "size"_a, "level"_a.none())
      .def_prop_ro("pairs", &MatrixBatchProduct::pairs)
      .def(
          "pack",
          [](const MatrixBatchProduct& self, const Entries& matrices, bool left) {
            return self.pack(values_of(matrices), left ? Side::left : Side::right);
          },
          "matrices"_a, "left"_a)
      .def(
          "unpack",
          [](const MatrixBatchProduct& self, const Entries& values, bool left) {
            return self.unpack(values_of(values), left ? Side::left : Side::right);
          },
          "values"_a, "left"_a);
  bind_prepared<circuits::PreparedMatrixBatchProduct, MatrixBatchProduct, rlwe::Ciphertext, rlwe::Ciphertext>(
      m, "PreparedMatrixBatchProduct", batch_product);
}

}  // namespace hemera::python
