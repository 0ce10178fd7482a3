// Hemera's file format: objects to bytes and files, and back.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "bytes_sink.hpp"
#include "hemera/io/container.hpp"
#include "hemera/io/describe.hpp"
#include "hemera/io/objects.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

template <typename Object>
const Object& unwrap(const Object& object) {
  return object;
}
const rlwe::SwitchingKey& unwrap(const SwitchingKeyHandle& handle) { return *handle.key; }

template <typename Bound>
nb::bytes save(const Bound& object, int compression) {
  BytesSink sink;
  {
    const ReleasedGil release;
    io::save(sink, unwrap(object), {.compression_level = compression});
  }
  return sink.take();
}

/// Paths are the bytes of the file system (os.fsencode).
std::filesystem::path to_path(const nb::bytes& path) { return std::string(path.c_str(), path.size()); }

template <typename Bound>
void save_file(const nb::bytes& path, const Bound& object, int compression) {
  const std::filesystem::path target = to_path(path);
  const ReleasedGil release;
  io::save_file(target, unwrap(object), {.compression_level = compression});
}

template <typename Bound>
void bind_save(nb::module_& m) {
  m.def("save", &save<Bound>, "object"_a, "compression"_a);
  m.def("save_file", &save_file<Bound>, "path"_a, "object"_a, "compression"_a);
}

std::span<const std::byte> view(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

/// The handles of objects in Python.
template <typename Object>
Object to_bound(Object object) {
  return object;
}
rlwe::EvaluationKeys to_bound(rlwe::PublicKey key) {
  rlwe::EvaluationKeys keys;
  keys.context = key.context;
  keys.public_key = std::make_shared<const rlwe::PublicKey>(std::move(key));
  return keys;
}
SwitchingKeyHandle to_bound(rlwe::SwitchingKey key) {
  return {std::make_shared<const rlwe::SwitchingKey>(std::move(key))};
}

template <typename Source>
nb::object load_object(const ContextHandle& context, const Source& source) {
  io::AnyObject loaded = [&] {
    const ReleasedGil release;
    return io::load_any(context.context, source);
  }();
  return std::visit([](auto& object) { return nb::cast(to_bound(std::move(object))); }, loaded);
}

/// `work` on the bytes, without the interpreter lock.
template <typename Work>
auto from_bytes(Work work) {
  return [work](const nb::bytes& data) {
    const std::span<const std::byte> file = view(data);
    const ReleasedGil release;
    return work(file);
  };
}

template <typename Work>
auto from_file(Work work) {
  return [work](const nb::bytes& path) {
    const std::filesystem::path source = to_path(path);
    const ReleasedGil release;
    return work(source);
  };
}

}  // namespace

void bind_io(nb::module_& m) {
  bind_save<rlwe::Parameters>(m);
  bind_save<rlwe::Plaintext>(m);
  bind_save<rlwe::Ciphertext>(m);
  bind_save<rlwe::SecretKey>(m);
  bind_save<rlwe::EvaluationKeys>(m);
  bind_save<SwitchingKeyHandle>(m);

  const auto load_parameters = [](const auto& source) { return io::load_parameters(source); };
  m.def("load_parameters", from_bytes(load_parameters), "data"_a);
  m.def("load_parameters_file", from_file(load_parameters), "path"_a);
  m.def(
      "load_object",
      [](const ContextHandle& context, const nb::bytes& data) { return load_object(context, view(data)); },
      "context"_a, "data"_a);
  m.def(
      "load_object_file",
      [](const ContextHandle& context, const nb::bytes& path) { return load_object(context, to_path(path)); },
      "context"_a, "path"_a);

  nb::class_<io::SectionDescription>(m, "SectionDescription")
      .def_ro("tag", &io::SectionDescription::tag)
      .def_ro("stored_bytes", &io::SectionDescription::stored_bytes)
      .def_ro("raw_bytes", &io::SectionDescription::raw_bytes)
      .def_ro("compressed", &io::SectionDescription::compressed);
  nb::class_<io::Description>(m, "Description")
      .def_ro("kind", &io::Description::kind)
      .def_ro("version", &io::Description::version)
      .def_ro("fingerprint", &io::Description::fingerprint)
      .def_ro("bytes", &io::Description::bytes)
      .def_ro("sections", &io::Description::sections)
      .def_ro("fields", &io::Description::fields);
  const auto describe = [](const auto& source) {
    io::Description found = io::describe(source);
    for (auto& [name, value] : found.fields)
      if (name == "batch") value = with_tuples(std::move(value));
    return found;
  };
  m.def("describe", from_bytes(describe), "data"_a);
  m.def("describe_file", from_file(describe), "path"_a);

  nb::class_<io::CiphertextExtents>(m, "CiphertextExtents")
      .def_ro("batch", &io::CiphertextExtents::batch)
      .def_ro("components", &io::CiphertextExtents::components)
      .def_ro("bytes", &io::CiphertextExtents::bytes)
      .def_ro("compressed", &io::CiphertextExtents::compressed);
  const auto extents = [](std::span<const std::byte> file) { return io::ciphertext_extents(file); };
  m.def("ciphertext_extents", from_bytes(extents), "data"_a);
}

}  // namespace hemera::python
