// Hemera's file format: objects to bytes and files, and back.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <algorithm>
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
#include "hemera/io/container.hpp"
#include "hemera/io/describe.hpp"
#include "hemera/io/objects.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

/// Collects a file in the bytes object that Python gets, so that it is not copied there. Works without the
/// interpreter lock, which it takes to allocate. Grows by no more than what is written (or expected), so that
/// a secret, which comes last, is never moved.
class BytesSink final : public io::Sink {
 public:
  /// With the lock, as the end of the sink.
  BytesSink() : bytes_(PyBytes_FromStringAndSize(nullptr, 0)) {
    if (bytes_ == nullptr) throw nb::python_error();
  }
  BytesSink(const BytesSink&) = delete;
  BytesSink& operator=(const BytesSink&) = delete;
  ~BytesSink() override { Py_XDECREF(bytes_); }

  void write(std::span<const std::byte> data) override {
    const std::span<std::byte> place = room(data.size());
    std::copy(data.begin(), data.end(), place.begin());
  }
  std::span<std::byte> room(std::size_t bytes) override {
    if (bytes > capacity_ - size_) resize(size_ + bytes);
    const std::size_t begin = std::exchange(size_, size_ + bytes);
    return {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes_)) + begin, bytes};
  }
  void expect(std::size_t bytes) override {
    if (bytes > capacity_ - size_) resize(size_ + bytes);
  }
  /// The file; with the lock.
  nb::bytes take() {
    if (capacity_ != size_) resize(size_);
    return nb::steal<nb::bytes>(std::exchange(bytes_, nullptr));
  }

 private:
  void resize(std::size_t bytes) {
    const AcquiredGil acquire;
    if (_PyBytes_Resize(&bytes_, static_cast<Py_ssize_t>(bytes)) != 0) throw nb::python_error();
    capacity_ = bytes;
    use_huge_pages();
  }
  /// As NumPy does for large arrays: most of the time of a large file is faults of small pages.
  void use_huge_pages() {
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
    const auto begin = reinterpret_cast<std::uintptr_t>(PyBytes_AS_STRING(bytes_));
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t last = (begin + capacity_) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // a hint
#endif
  }

  PyObject* bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

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

/// Paths come as the bytes that the file system has (os.fsencode).
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

/// Objects as Python holds them.
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
  const auto describe = [](const auto& source) { return io::describe(source); };
  m.def("describe", from_bytes(describe), "data"_a);
  m.def("describe_file", from_file(describe), "path"_a);
}

}  // namespace hemera::python
