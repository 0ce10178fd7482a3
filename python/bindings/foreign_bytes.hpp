// Files of other libraries as Python's bytes, for the bindings of all sessions.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bindings.hpp"
#include "bytes_sink.hpp"
#include "hemera/interop/source.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::python {

inline std::span<const std::byte> foreign_view(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

/// Views of the bytes, which must outlive them.
inline std::vector<interop::Source> foreign_sources(const std::vector<nb::bytes>& sources) {
  std::vector<interop::Source> views;
  views.reserve(sources.size());
  for (const nb::bytes& source : sources) views.emplace_back(foreign_view(source));
  return views;
}

inline interop::KeySources foreign_keys(const std::optional<nb::bytes>& public_key,
                                        const std::optional<nb::bytes>& relinearization,
                                        const std::optional<nb::bytes>& galois) {
  interop::KeySources sources;
  if (public_key) sources.public_key = foreign_view(*public_key);
  if (relinearization) sources.relinearization = foreign_view(*relinearization);
  if (galois) sources.galois = foreign_view(*galois);
  return sources;
}

/// A method that takes bytes: `load(session, source)` without the interpreter lock.
template <typename Session, typename Load>
auto foreign_load(Load load) {
  return [load](const Session& session, const nb::bytes& source) {
    const interop::Source view = foreign_view(source);
    const ReleasedGil release;
    return load(session, view);
  };
}

/// The bytes of a file. Their first place is zeroed, since they may be a secret key's.
inline nb::bytes to_python(std::vector<std::byte>& file) {
  nb::bytes result(file.data(), file.size());
  runtime::secure_zero(file.data(), file.size());
  return result;
}

/// The result of `dump()`, which runs without the interpreter lock: a file, several, or those of keys by
/// kind.
template <typename Dump>
nb::bytes foreign_bytes(Dump dump) {
  std::vector<std::byte> file = [&] {
    const ReleasedGil release;
    return dump();
  }();
  return to_python(file);
}

template <typename Dump>
nb::typed<nb::list, nb::bytes> foreign_list(Dump dump) {
  std::vector<std::vector<std::byte>> files = [&] {
    const ReleasedGil release;
    return dump();
  }();
  nb::typed<nb::list, nb::bytes> result;
  for (std::vector<std::byte>& file : files) result.append(to_python(file));
  return result;
}

/// The result of `dump(sink, element)`, which writes into Python's bytes.
template <typename Dump>
nb::typed<nb::list, nb::bytes> foreign_elements(std::size_t count, Dump dump) {
  nb::typed<nb::list, nb::bytes> result;
  for (std::size_t element = 0; element < count; ++element) {
    BytesSink sink;
    {
      const ReleasedGil release;
      dump(sink, element);
    }
    result.append(sink.take());
  }
  return result;
}

template <typename Dump>
nb::typed<nb::dict, nb::str, nb::bytes> foreign_files(Dump dump) {
  interop::KeyFiles files = [&] {
    const ReleasedGil release;
    return dump();
  }();
  nb::typed<nb::dict, nb::str, nb::bytes> result;
  if (files.public_key) result["public_key"] = to_python(*files.public_key);
  if (files.relinearization) result["relinearization"] = to_python(*files.relinearization);
  if (files.galois) result["galois"] = to_python(*files.galois);
  return result;
}

/// The methods that sessions of all libraries have. `form_of` turns the argument `form_name` into the form of
/// a file.
template <typename Session, typename Argument, typename Form>
void bind_foreign_session(nb::class_<Session>& session, const char* form_name, Form (*form_of)(Argument)) {
  using namespace nb::literals;
  session.def_prop_ro("keys", [](const Session& self) { return self.keys(); })
      .def(
          "load_keys",
          [](Session& self, const std::optional<nb::bytes>& public_key,
             const std::optional<nb::bytes>& relinearization, const std::optional<nb::bytes>& galois) {
            const interop::KeySources sources = foreign_keys(public_key, relinearization, galois);
            const ReleasedGil release;
            self.load_keys(sources);
          },
          "public_key"_a.none(), "relinearization"_a.none(), "galois"_a.none())
      .def("load_ciphertext", foreign_load<Session>([](const Session& self, const interop::Source& source) {
             return self.load_ciphertext(source);
           }),
           "source"_a)
      .def(
          "load_ciphertexts",
          [](const Session& self, const std::vector<nb::bytes>& sources) {
            const std::vector<interop::Source> parts = foreign_sources(sources);
            const ReleasedGil release;
            return self.load_ciphertexts(parts);
          },
          "sources"_a)
      .def("load_secret_key", foreign_load<Session>([](const Session& self, const interop::Source& source) {
             return self.load_secret_key(source);
           }),
           "source"_a)
      .def(
          "dump_context",
          [form_of](const Session& self, Argument form) {
            return foreign_bytes([&] { return self.dump_context(form_of(form)); });
          },
          nb::arg(form_name))
      .def(
          "dump_keys",
          [form_of](const Session& self, const rlwe::EvaluationKeys& keys, Argument form) {
            return foreign_files([&] { return self.dump_keys(keys, form_of(form)); });
          },
          "keys"_a, nb::arg(form_name))
      .def(
          "dump_ciphertexts",
          [form_of](const Session& self, const rlwe::Ciphertext& batch, Argument form) {
            if constexpr (requires(BytesSink & sink) {
                            self.dump_ciphertext(sink, batch, std::size_t{0}, form_of(form));
                          }) {
              return foreign_elements(batch.poly.shape().batch, [&](BytesSink& sink, std::size_t element) {
                self.dump_ciphertext(sink, batch, element, form_of(form));
              });
            } else {
              return foreign_list([&] { return self.dump_ciphertexts(batch, form_of(form)); });
            }
          },
          "batch"_a, nb::arg(form_name))
      .def(
          "dump_secret_key",
          [form_of](const Session& self, const rlwe::SecretKey& key, Argument form) {
            return foreign_bytes([&] { return self.dump_secret_key(key, form_of(form)); });
          },
          "key"_a, nb::arg(form_name));
}

}  // namespace hemera::python
