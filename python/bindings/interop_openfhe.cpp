// Sessions with OpenFHE.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
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
      "describe_openfhe",
      [](const nb::bytes& data) {
        auto found = openfhe::describe(foreign_view(data));
        using Fields = std::vector<std::pair<std::string, std::string>>;
        using Found = std::tuple<std::string, std::string, Fields>;
        if (!found) return std::optional<Found>();
        // Files do not hold the library's version.
        found->fields.insert(found->fields.begin(), {"format", found->format});
        return std::optional<Found>({found->kind, "", found->fields});
      },
      "data"_a);

  nb::class_<openfhe::Session> session(m, "OpenFheSession");
  session
      .def(
          "__init__",
          // make_context(parameters) is called here, and again if keys need another context.
          [](openfhe::Session* self, const nb::bytes& source,
             nb::typed<nb::callable, ContextHandle(rlwe::Parameters)> make_context) {
            const auto maker = std::make_shared<const nb::callable>(std::move(make_context));
            new (self) openfhe::Session(
                foreign_view(source),
                [maker](const rlwe::Parameters& parameters) -> std::shared_ptr<const rlwe::Context> {
                  const nb::gil_scoped_acquire acquired;
                  return nb::cast<ContextHandle>((*maker)(parameters)).context;
                });
          },
          "source"_a, "make_context"_a)
      .def(
          "bootstrap",
          [](const openfhe::Session& self, const rlwe::Ciphertext& ciphertext, int iterations, int precision,
             const EvaluatorHandle& counts) {
            return self.bootstrap(ciphertext, iterations, precision, counts.evaluator.get());
          },
          "ciphertext"_a, "iterations"_a, "precision"_a, "counts"_a, ReleaseGil())
      .def("bootstrap_input_levels", &openfhe::Session::bootstrap_input_levels)
      .def("metadata", &openfhe_metadata, "ciphertext"_a);
  bind_foreign_session(session, "json", &openfhe_format);
}

}  // namespace hemera::python
