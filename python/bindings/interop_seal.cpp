// Sessions with Microsoft SEAL.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "foreign_bytes.hpp"
#include "hemera/interop/seal.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
namespace seal = interop::seal;

seal::Options options_of(std::optional<double> scale, const std::optional<std::string>& encoding) {
  seal::Options options{.scale = scale.value_or(0)};
  if (encoding) {
    options.encoding = *encoding == "slots" ? rlwe::Encoding::slots : rlwe::Encoding::coefficients;
  }
  return options;
}

seal::Compression compression_of(int number) { return static_cast<seal::Compression>(number); }

nb::typed<nb::dict, nb::str, nb::object> metadata(const seal::Session& session,
                                                  const rlwe::Ciphertext& ciphertext) {
  const seal::Metadata found = session.metadata(ciphertext);
  nb::typed<nb::dict, nb::str, nb::object> result;
  result["parms_id"] = found.parms_id;
  result["size"] = found.size;
  result["is_ntt_form"] = found.is_ntt_form;
  result["coeff_modulus_count"] = found.coeff_modulus_count;
  result["scale"] = found.scale;
  result["correction_factor"] = found.correction_factor;
  return result;
}

}  // namespace

void bind_interop_seal(nb::module_& m) {
  m.def(
      "seal_parameters",
      [](const nb::bytes& parms, std::optional<double> scale, const std::optional<std::string>& encoding) {
        return seal::load_parameters(foreign_view(parms), options_of(scale, encoding));
      },
      "parms"_a, "scale"_a.none(), "encoding"_a.none());
  m.def(
      "describe_seal",
      [](const nb::bytes& data, const std::optional<nb::bytes>& parms) {
        const auto found = seal::describe(
            foreign_view(data), parms ? std::optional<interop::Source>(foreign_view(*parms)) : std::nullopt);
        using Fields = std::vector<std::pair<std::string, std::string>>;
        using Found = std::tuple<std::string, std::string, Fields>;
        return found ? std::optional<Found>({found->kind, found->version, found->fields}) : std::nullopt;
      },
      "data"_a, "parms"_a.none());

  nb::class_<seal::Session> session(m, "SealSession");
  session
      .def(
          "__init__",
          [](seal::Session* self, const ContextHandle& context, const nb::bytes& parms,
             std::optional<double> scale, const std::optional<std::string>& encoding) {
            new (self) seal::Session(foreign_view(parms), context.context, options_of(scale, encoding));
          },
          "context"_a, "parms"_a, "scale"_a.none(), "encoding"_a.none())
      .def("load_plaintext",
           foreign_load<seal::Session>([](const seal::Session& self, const interop::Source& source) {
             return self.load_plaintext(source);
           }),
           "source"_a)
      .def(
          "dump_plaintexts",
          [](const seal::Session& self, const rlwe::Plaintext& batch, int compression) {
            return foreign_list([&] { return self.dump_plaintexts(batch, compression_of(compression)); });
          },
          "batch"_a, "compression"_a)
      .def("metadata", &metadata, "ciphertext"_a);
  bind_foreign_session(session, "compression", &compression_of);
}

}  // namespace hemera::python
