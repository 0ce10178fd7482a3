// Hemera's file format: objects to bytes and files, and back.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "bytes_sink.hpp"
#include "hemera/circuits/plan.hpp"
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

/// Pieces of a file to a function of Python.
class FunctionSink final : public io::Sink {
 public:
  explicit FunctionSink(const nb::callable& function) : function_(function) {}

  void write(std::span<const std::byte> data) override {
    if (pending_.size() + data.size() > piece_bytes) flush();
    for (; data.size() > piece_bytes; data = data.subspan(piece_bytes)) give(data.first(piece_bytes));
    pending_.insert(pending_.end(), data.begin(), data.end());
  }
  void flush() {
    give(pending_);
    pending_.clear();
  }

 private:
  void give(std::span<const std::byte> piece) const {
    const AcquiredGil acquire;
    function_(nb::bytes(piece.data(), piece.size()));
  }

  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  const nb::callable& function_;
  std::vector<std::byte> pending_;
};

/// Pieces of the file of the keys of `needs`; `told` gets the number of those that are written.
/// SecurityError, before the first one, where a key has fewer than `security` bits.
void write_needed_keys(const rlwe::SecretKey& secret, const std::vector<circuits::KeyNeed>& needs,
                       bool public_key, int security, const nb::typed<nb::callable, void(nb::bytes)>& write,
                       const nb::typed<nb::callable, void(std::size_t)>& told) {
  const ReleasedGil release;
  FunctionSink sink(write);
  io::write_keys(sink, secret, {.public_key = public_key, .needs = needs}, security, [&](std::size_t count) {
    const AcquiredGil acquire;
    told(count);
  });
  sink.flush();
}

/// The keys of `needs`, and the public key, as a file that clients of any language make keys of.
nb::bytes save_needed_keys(const rlwe::Parameters& parameters, const std::vector<circuits::KeyNeed>& needs,
                           bool public_key) {
  BytesSink sink;
  io::save(sink, parameters, {.public_key = public_key, .needs = needs});
  return sink.take();
}

/// The list of such a file, and whether the public key is on it.
std::pair<std::vector<circuits::KeyNeed>, bool> load_needed_keys(const ContextHandle& context,
                                                                 const nb::bytes& data) {
  io::NeededKeys needed = io::load_needed_keys(context.context, view(data));
  return {std::move(needed.needs), needed.public_key};
}

/// The keys that `listed` has.
io::NeededKeys needs_of(const rlwe::EvaluationKeys& listed) {
  io::NeededKeys needed{.public_key = static_cast<bool>(listed.public_key), .needs = {}};
  for (const auto& [role, of_role] : listed.switching) {
    for (const auto& [gadget, key] : of_role) needed.needs.push_back({role, gadget});
  }
  return needed;
}

/// A file of the keys that `listed` has, which are made anew. `told` gets the number of switching keys that
/// are written, and that of all.
void save_listed_keys(const nb::bytes& path, const rlwe::SecretKey& secret,
                      const rlwe::EvaluationKeys& listed,
                      const nb::typed<nb::callable, void(std::size_t, std::size_t)>& told) {
  const std::filesystem::path target = to_path(path);
  const ReleasedGil release;
  const io::NeededKeys needed = needs_of(listed);
  io::AtomicFile file(target);
  const auto tell = [&](std::size_t count) {
    const AcquiredGil acquire;
    told(count, needed.needs.size());
  };
  tell(0);
  io::write_keys(file, secret, needed, 0, tell);
  file.commit();
}

}  // namespace

void bind_io(nb::module_& m) {
  bind_save<rlwe::Parameters>(m);
  bind_save<rlwe::Plaintext>(m);
  bind_save<rlwe::Ciphertext>(m);
  bind_save<rlwe::SecretKey>(m);
  bind_save<rlwe::EvaluationKeys>(m);
  bind_save<SwitchingKeyHandle>(m);

  m.def("write_needed_keys", &write_needed_keys, "secret"_a, "needs"_a, "public_key"_a, "security"_a,
        "write"_a, "told"_a);
  m.def("save_needed_keys", &save_needed_keys, "parameters"_a, "needs"_a, "public_key"_a);
  m.def(
      "listed_needs", [](const rlwe::EvaluationKeys& listed) { return needs_of(listed).needs; }, "listed"_a);
  m.def("load_needed_keys", &load_needed_keys, "context"_a, "data"_a);
  m.def("save_listed_keys", &save_listed_keys, "path"_a, "secret"_a, "listed"_a, "told"_a);

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
