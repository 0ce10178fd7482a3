// Hemera's file format: objects to bytes and files, and back.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/io/container.hpp"
#include "hemera/io/describe.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using Bytes = std::vector<std::byte>;

template <typename Object>
const Object& unwrap(const Object& object) {
  return object;
}
const rlwe::SwitchingKey& unwrap(const SwitchingKeyHandle& handle) { return *handle.key; }

template <typename Bound>
nb::bytes save(const Bound& object, int compression) {
  Bytes data;
  {
    const nb::gil_scoped_release release;
    data = io::save(unwrap(object), {.compression_level = compression});
  }
  nb::bytes result(data.data(), data.size());
  if constexpr (std::is_same_v<Bound, rlwe::SecretKey>) runtime::secure_zero(data.data(), data.size());
  return result;
}

/// Paths come as the bytes that the file system has (os.fsencode).
std::filesystem::path to_path(const nb::bytes& path) { return std::string(path.c_str(), path.size()); }

template <typename Bound>
void save_file(const nb::bytes& path, const Bound& object, int compression) {
  const std::filesystem::path target = to_path(path);
  const nb::gil_scoped_release release;
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

/// Bytes of a file that may hold a secret key.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path) : data_(io::load_file(path)) {}
  ~FileBytes() { runtime::secure_zero(data_.data(), data_.size()); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  [[nodiscard]] std::span<const std::byte> view() const { return data_; }

 private:
  Bytes data_;
};

/// `work` on the bytes, without the interpreter lock.
template <typename Work>
auto from_bytes(Work work) {
  return [work](const nb::bytes& data) {
    const std::span<const std::byte> file = view(data);
    const nb::gil_scoped_release release;
    return work(file);
  };
}

template <typename Work>
auto from_file(Work work) {
  return [work](const nb::bytes& path) {
    const std::filesystem::path source = to_path(path);
    const nb::gil_scoped_release release;
    const FileBytes data(source);
    return work(data.view());
  };
}

/// An object of any kind but parameters.
nb::object load_object(const ContextHandle& handle, std::span<const std::byte> file) {
  const io::ContextPointer& context = handle.context;
  const auto load = [&](auto loader) {
    auto object = [&] {
      const nb::gil_scoped_release release;
      return loader(context, file);
    }();
    return nb::cast(std::move(object));
  };
  const io::Kind kind = [&] {
    const nb::gil_scoped_release release;
    return io::Reader(file).header().kind;
  }();
  switch (kind) {
    case io::Kind::plaintext:
      return load(io::load_plaintext);
    case io::Kind::ciphertext:
      return load(io::load_ciphertext);
    case io::Kind::secret_key:
      return load(io::load_secret_key);
    case io::Kind::public_key:
      return load([](const io::ContextPointer& pointer, std::span<const std::byte> data) {
        rlwe::EvaluationKeys keys;
        keys.context = pointer;
        keys.public_key = std::make_shared<const rlwe::PublicKey>(io::load_public_key(pointer, data));
        return keys;
      });
    case io::Kind::switching_key:
      return load([](const io::ContextPointer& pointer, std::span<const std::byte> data) {
        return SwitchingKeyHandle{
            std::make_shared<const rlwe::SwitchingKey>(io::load_switching_key(pointer, data))};
      });
    case io::Kind::parameters:
    case io::Kind::evaluation_keys:
      break;
  }
  // Evaluation keys; for parameters this throws a MismatchError that names both kinds.
  return load(io::load_evaluation_keys);
}

nb::object load_object_file(const ContextHandle& context, const nb::bytes& path) {
  const std::filesystem::path source = to_path(path);
  const auto data = [&] {
    const nb::gil_scoped_release release;
    return std::make_unique<const FileBytes>(source);
  }();
  return load_object(context, data->view());
}

}  // namespace

void bind_io(nb::module_& m) {
  bind_save<rlwe::Parameters>(m);
  bind_save<rlwe::Plaintext>(m);
  bind_save<rlwe::Ciphertext>(m);
  bind_save<rlwe::SecretKey>(m);
  bind_save<rlwe::EvaluationKeys>(m);
  bind_save<SwitchingKeyHandle>(m);

  m.def("load_parameters", from_bytes(io::load_parameters), "data"_a);
  m.def("load_parameters_file", from_file(io::load_parameters), "path"_a);
  m.def(
      "load_object",
      [](const ContextHandle& context, const nb::bytes& data) { return load_object(context, view(data)); },
      "context"_a, "data"_a);
  m.def("load_object_file", &load_object_file, "context"_a, "path"_a);

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
  m.def("describe", from_bytes(io::describe), "data"_a);
  m.def("describe_file", from_file(io::describe), "path"_a);
}

}  // namespace hemera::python
