// Plaintexts and ciphertexts: what they carry, and batches as arrays.
#include "hemera/rlwe/ciphertext.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

/// Properties that plaintexts and ciphertexts have alike.
template <typename Object>
nb::class_<Object> bind_object(nb::module_& m, const char* name) {
  return nb::class_<Object>(m, name)
      .def_prop_ro("context", [](const Object& self) { return ContextHandle{self.context}; })
      .def_prop_ro("batch", [](const Object& self) { return self.meta.batch; })
      .def_prop_ro("level", [](const Object& self) { return self.meta.level; })
      .def_prop_ro("scale", [](const Object& self) { return self.meta.scale; })
      .def_prop_ro("noise_scale_degree", [](const Object& self) { return self.meta.noise_scale_degree; })
      .def_prop_ro("slots", [](const Object& self) { return self.meta.slots; })
      .def_prop_ro("encoding", [](const Object& self) { return encoding_name(self.meta); })
      .def_prop_ro("memory_bytes", [](const Object& self) { return self.poly.bytes(); });
}

void reshape_inplace(Ciphertext& a, rlwe::BatchShape shape) {
  if (rlwe::batch_count(shape) != rlwe::batch_count(a.meta.batch)) {
    throw MismatchError("reshape: a batch of shape " + rlwe::to_text(a.meta.batch) + " cannot become " +
                        rlwe::to_text(shape) + "; the number of elements must stay");
  }
  a.meta.batch = std::move(shape);
}

/// An object of another batch shape with room for its residues.
Ciphertext make_like(const Ciphertext& a, rlwe::Metadata meta) {
  return rlwe::make_ciphertext(a.context, std::move(meta), a.size());
}
Plaintext make_like(const Plaintext& a, rlwe::Metadata meta) {
  const std::size_t count = rlwe::batch_count(meta.batch);
  return {
      a.context, std::move(meta),
      a.context->make_poly(count, a.poly.shape().components, a.poly.base(), a.poly.form(), a.poly.secrecy())};
}

/// The elements of these flat indices (of the batch row by row) as a new batch: what every index and every
/// broadcast of Python comes down to.
template <typename Object>
Object gather(const Object& a, const std::vector<std::size_t>& indices, rlwe::BatchShape shape) {
  const std::size_t count = a.poly.shape().batch;
  if (indices.empty() || rlwe::batch_count(shape) != indices.size()) {
    throw MismatchError("gather: " + std::to_string(indices.size()) +
                        " elements do not fill a batch of shape " + rlwe::to_text(shape));
  }
  rlwe::Metadata meta = a.meta;
  meta.batch = std::move(shape);
  Object out = make_like(a, std::move(meta));
  const rlwe::Context& context = *a.context;
  for (std::size_t first = 0; first < indices.size();) {
    // One copy for each run of consecutive elements.
    std::size_t length = 1;
    while (first + length < indices.size() && indices[first + length] == indices[first] + length) ++length;
    if (indices[first] + length > count) {
      throw MismatchError("gather: element " + std::to_string(indices[first] + length - 1) +
                          " is not in a batch of " + std::to_string(count));
    }
    context.backend().copy(context.queue(), out.poly.view().batches(first, length),
                           a.poly.view().batches(indices[first], length));
    first += length;
  }
  return out;
}

}  // namespace

void bind_ciphertext(nb::module_& m) {
  bind_object<Plaintext>(m, "Plaintext");
  bind_object<Ciphertext>(m, "Ciphertext")
      .def_prop_ro("size", &Ciphertext::size)
      .def_prop_ro("correction", [](const Ciphertext& self) { return self.meta.correction; })
      .def_prop_ro("noise_log2", [](const Ciphertext& self) { return self.meta.noise_log2; })
      .def_prop_ro("largest", [](const Ciphertext& self) { return self.meta.largest; })
      .def_prop_ro("has_seed", [](const Ciphertext& self) { return self.seed.has_value(); })
      .def("clone", &Ciphertext::clone, ReleaseGil());

  m.def("gather", &gather<Ciphertext>, "a"_a, "indices"_a, "shape"_a, ReleaseGil());
  m.def("gather", &gather<Plaintext>, "a"_a, "indices"_a, "shape"_a, ReleaseGil());
  m.def("stack", &rlwe::stack, "parts"_a, ReleaseGil());
  m.def("concatenate", &rlwe::concatenate, "parts"_a, ReleaseGil());
  m.def("reshape_inplace", &reshape_inplace, "ciphertext"_a, "shape"_a, ReleaseGil());
}

}  // namespace hemera::python
