// Secret keys, evaluation keys and keys between secrets.
#include "hemera/rlwe/keys.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::EvaluationKeys;
using rlwe::SecretKey;

SecretKey generate_secret_key(const ContextHandle& context) {
  return rlwe::generate_secret_key(context.context);
}

EvaluationKeys generate_keys(const SecretKey& secret, bool public_key, bool relinearization,
                             std::vector<std::int64_t> rotations, bool conjugation,
                             std::optional<std::size_t> galois_level) {
  return rlwe::generate_keys(secret, {.public_key = public_key,
                                      .relinearization = relinearization,
                                      .rotations = std::move(rotations),
                                      .conjugation = conjugation,
                                      .galois_level = galois_level});
}

SwitchingKeyHandle generate_switching_key(const SecretKey& from, const SecretKey& to, std::size_t level) {
  return {std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_switching_key(from, to, level))};
}

EvaluationKeys public_only(const EvaluationKeys& keys) {
  EvaluationKeys result;
  result.context = keys.context;
  result.public_key = keys.public_key;
  return result;
}

/// The public key and the keys of the secret's powers.
EvaluationKeys without_galois_keys(const EvaluationKeys& keys) {
  EvaluationKeys result = keys;
  std::erase_if(result.switching,
                [](const auto& held) { return held.first != rlwe::KeyRole{.power = held.first.power}; });
  return result;
}

/// The keys of both. If both have a key, that of `first` stays.
EvaluationKeys merged(const EvaluationKeys& first, const EvaluationKeys& second) {
  EvaluationKeys result = first;
  result.merge(second);
  return result;
}

}  // namespace

void bind_keys(nb::module_& m) {
  nb::class_<SecretKey>(m, "SecretKey").def_prop_ro("context", [](const SecretKey& self) {
    return ContextHandle{self.context};
  });

  nb::class_<EvaluationKeys>(m, "EvaluationKeys")
      .def(
          "__init__",
          [](EvaluationKeys* self, const ContextHandle& context) {
            new (self) EvaluationKeys{};
            self->context = context.context;
          },
          "context"_a)
      .def_prop_ro("context", [](const EvaluationKeys& self) { return ContextHandle{self.context}; })
      .def_prop_ro("has_public_key", [](const EvaluationKeys& self) { return self.public_key != nullptr; })
      .def_prop_ro("has_relinearization",
                   [](const EvaluationKeys& self) { return self.has(rlwe::KeyRole::relinearization()); })
      .def_prop_ro("galois_elements", &EvaluationKeys::galois_elements)
      .def_prop_ro("memory_bytes", &EvaluationKeys::memory_bytes)
      .def_prop_ro("security",
                   [](const EvaluationKeys& self) -> std::optional<std::string> {
                     const auto security = self.security();
                     return security ? std::optional(rlwe::name(*security)) : std::nullopt;
                   })
      .def("public_only", &public_only)
      .def("without_galois_keys", &without_galois_keys)
      .def("merged", &merged, "other"_a);

  nb::class_<SwitchingKeyHandle>(m, "SwitchingKey")
      .def_prop_ro("context", [](const SwitchingKeyHandle& self) { return ContextHandle{self.key->context}; })
      .def_prop_ro("level", [](const SwitchingKeyHandle& self) { return self.key->level(); })
      .def_prop_ro("security",
                   [](const SwitchingKeyHandle& self) { return rlwe::name(self.key->security()); });

  m.def("generate_secret_key", &generate_secret_key, "context"_a, ReleaseGil());
  m.def("generate_keys", &generate_keys, "secret"_a, "public_key"_a, "relinearization"_a, "rotations"_a,
        "conjugation"_a, "galois_level"_a.none(), ReleaseGil());
  m.def("generate_switching_key", &generate_switching_key, "source"_a, "target"_a, "level"_a, ReleaseGil());
}

}  // namespace hemera::python
