// Sessions with OpenFHE.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "foreign_bytes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
namespace openfhe = interop::openfhe;

openfhe::Format openfhe_format(bool is_json) {
  return is_json ? openfhe::Format::json : openfhe::Format::binary;
}

rlwe::Ciphertext load_openfhe_batch(const openfhe::Session& session, const std::vector<nb::bytes>& sources) {
  const std::vector<interop::Source> parts = foreign_sources(sources);
  const ReleasedGil release;
  return session.load_ciphertexts(parts);
}

nb::typed<nb::dict, nb::str, nb::object> openfhe_metadata(const openfhe::Session& session,
                                                          const rlwe::Ciphertext& ciphertext) {
  const openfhe::Metadata found = session.metadata(ciphertext);
  nb::typed<nb::dict, nb::str, nb::object> result;
  result["level"] = found.level;
  result["noise_scale_degree"] = found.noise_scale_degree;
  result["scaling_factor"] = found.scaling_factor;
  result["scaling_factor_int"] = found.scaling_factor_int;
  result["slots"] = found.slots;
  result["components"] = found.components;
  result["limbs"] = found.limbs;
  return result;
}

}  // namespace

void bind_interop_openfhe(nb::module_& m) {
  m.def(
      "openfhe_parameters",
      [](const nb::bytes& source) {
        const interop::Source view = foreign_view(source);
        const ReleasedGil release;
        return openfhe::load_parameters(view);
      },
      "source"_a);
  m.def(
      "describe_openfhe",
      [](const nb::bytes& data) {
        auto found = openfhe::describe(foreign_view(data));
        using Fields = std::vector<std::pair<std::string, std::string>>;
        using Found = std::tuple<std::string, std::string, Fields>;
        if (!found) return std::optional<Found>();
        // Files do not tell the library's version.
        found->fields.insert(found->fields.begin(), {"format", found->format});
        return std::optional<Found>({found->kind, "", found->fields});
      },
      "data"_a);

  nb::class_<openfhe::Session>(m, "OpenFheSession")
      .def(
          "__init__",
          [](openfhe::Session* self, const ContextHandle& context, const nb::bytes& source) {
            new (self) openfhe::Session(foreign_view(source), context.context);
          },
          "context"_a, "source"_a)
      .def_prop_ro("keys", [](const openfhe::Session& self) { return self.keys(); })
      .def(
          "load_keys",
          [](openfhe::Session& self, const std::optional<nb::bytes>& public_key,
             const std::optional<nb::bytes>& relinearization, const std::optional<nb::bytes>& galois) {
            const interop::KeySources sources = foreign_keys(public_key, relinearization, galois);
            const ReleasedGil release;
            self.load_keys(sources);
          },
          "public_key"_a.none(), "relinearization"_a.none(), "galois"_a.none())
      .def("load_ciphertext",
           foreign_load<openfhe::Session>([](const openfhe::Session& self, const interop::Source& source) {
             return self.load_ciphertext(source);
           }),
           "source"_a)
      .def("load_ciphertexts", &load_openfhe_batch, "sources"_a)
      .def("load_secret_key",
           foreign_load<openfhe::Session>([](const openfhe::Session& self, const interop::Source& source) {
             return self.load_secret_key(source);
           }),
           "source"_a)
      .def("bootstrap", &openfhe::Session::bootstrap, "ciphertext"_a, "iterations"_a, "precision"_a,
           ReleaseGil())
      .def(
          "dump_context",
          [](const openfhe::Session& self, bool json) {
            return foreign_bytes([&] { return self.dump_context(openfhe_format(json)); });
          },
          "json"_a)
      .def(
          "dump_keys",
          [](const openfhe::Session& self, const rlwe::EvaluationKeys& keys, bool json) {
            return foreign_files([&] { return self.dump_keys(keys, openfhe_format(json)); });
          },
          "keys"_a, "json"_a)
      .def(
          "dump_ciphertexts",
          [](const openfhe::Session& self, const rlwe::Ciphertext& batch, bool json) {
            return foreign_list([&] { return self.dump_ciphertexts(batch, openfhe_format(json)); });
          },
          "batch"_a, "json"_a)
      .def(
          "dump_secret_key",
          [](const openfhe::Session& self, const rlwe::SecretKey& key, bool json) {
            return foreign_bytes([&] { return self.dump_secret_key(key, openfhe_format(json)); });
          },
          "key"_a, "json"_a)
      .def("metadata", &openfhe_metadata, "ciphertext"_a);
}

}  // namespace hemera::python
