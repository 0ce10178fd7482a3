// Plaintexts and ciphertexts: their metadata, and batches as arrays.
#include "hemera/rlwe/ciphertext.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Ciphertext;
using rlwe::Plaintext;

std::string encoding_name(const rlwe::Metadata& meta) {
  return meta.encoding == rlwe::Encoding::slots ? "slots" : "coefficients";
}

constexpr std::array paddings{"zeros", "unknown", "values", "uniform"};

std::string padding_name(const rlwe::Metadata& meta) {
  return paddings.at(static_cast<std::size_t>(meta.padding));
}

/// Declares the number of slots that hold values, which only the caller knows.
template <typename Object>
void fill(Object& object, std::size_t filled, const std::string& padding) {
  const auto found = std::find(paddings.begin(), paddings.end(), padding);
  if (found == paddings.end() || filled >= object.meta.slots + 1) {
    throw ParameterError("fill: " + std::to_string(filled) + " slots of " +
                         std::to_string(object.meta.slots) + ", and " + padding);
  }
  object.meta.filled = filled;
  object.meta.padding = static_cast<rlwe::Padding>(found - paddings.begin());
}

/// The properties that plaintexts and ciphertexts share.
template <typename Object>
nb::class_<Object> bind_object(nb::module_& m, const char* name) {
  return nb::class_<Object>(m, name)
      .def_prop_ro("context", [](const Object& self) { return ContextHandle{self.context}; })
      .def_prop_ro("batch", [](const Object& self) { return self.meta.batch; })
      .def_prop_ro("level", [](const Object& self) { return self.meta.level; })
      .def_prop_ro("scale", [](const Object& self) { return double{self.meta.scale}; })
      .def_prop_ro("noise_scale_degree", [](const Object& self) { return self.meta.noise_scale_degree; })
      .def_prop_ro("slots", [](const Object& self) { return self.meta.slots; })
      .def_prop_ro("filled", [](const Object& self) { return self.meta.filled; })
      .def_prop_ro("padding", [](const Object& self) { return padding_name(self.meta); })
      .def_prop_ro("is_complex", [](const Object& self) { return self.meta.is_complex; })
      .def("fill", &fill<Object>, "filled"_a, "padding"_a)
      .def(
          "declare_complex", [](Object& self, bool is_complex) { self.meta.is_complex = is_complex; },
          "is_complex"_a)
      .def_prop_ro("encoding", [](const Object& self) { return encoding_name(self.meta); })
      .def_prop_ro("memory_bytes", [](const Object& self) { return self.poly.bytes(); });
}

using Indices = std::vector<std::size_t>;

Ciphertext gather(const Ciphertext& a, const Indices& indices, rlwe::BatchShape shape) {
  return rlwe::gather(a, indices, std::move(shape));
}
Plaintext gather_plain(const Plaintext& a, const Indices& indices, rlwe::BatchShape shape) {
  return rlwe::gather(a, indices, std::move(shape));
}

}  // namespace

void bind_ciphertext(nb::module_& m) {
  bind_object<Plaintext>(m, "Plaintext");
  bind_object<Ciphertext>(m, "Ciphertext")
      .def_prop_ro("size", &Ciphertext::size)
      .def_prop_ro("correction", [](const Ciphertext& self) { return self.meta.correction; })
      .def_prop_ro("noise_log2", [](const Ciphertext& self) { return self.meta.noise_log2; })
      .def_prop_ro("largest", [](const Ciphertext& self) { return self.meta.largest; })
      .def("clone", &Ciphertext::clone, ReleaseGil())
      .def(
          "declared",
          [](const Ciphertext& self, double largest) {
            Ciphertext copy = self.clone();
            copy.meta.largest = largest;
            return copy;
          },
          "largest"_a, ReleaseGil());

  m.def("gather", &gather, "a"_a, "indices"_a, "shape"_a, ReleaseGil());
  m.def("gather", &gather_plain, "a"_a, "indices"_a, "shape"_a, ReleaseGil());
  m.def("stack", &rlwe::stack, "parts"_a, ReleaseGil());
  m.def("concatenate", &rlwe::concatenate, "parts"_a, ReleaseGil());
  m.def("reshape_inplace", &rlwe::reshape_inplace, "ciphertext"_a, "shape"_a, ReleaseGil());
}

}  // namespace hemera::python
