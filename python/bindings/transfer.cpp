// Objects in another context of the same parameters.
#include "hemera/rlwe/transfer.hpp"

#include <memory>

#include "bindings.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

template <typename Object>
void bind_copy_to(nb::module_& m) {
  m.def(
      "copy_to",
      [](const ContextHandle& target, const Object& source) { return rlwe::copy_to(target.context, source); },
      "target"_a, "source"_a, ReleaseGil());
}

}  // namespace

void bind_transfer(nb::module_& m) {
  bind_copy_to<rlwe::Plaintext>(m);
  bind_copy_to<rlwe::Ciphertext>(m);
  bind_copy_to<rlwe::SecretKey>(m);
  bind_copy_to<rlwe::EvaluationKeys>(m);
  m.def(
      "copied_on_use",
      [](const ContextHandle& target, const rlwe::EvaluationKeys& source) {
        return rlwe::copied_on_use(target.context, source);
      },
      "target"_a, "source"_a, ReleaseGil());
  m.def(
      "copy_to",
      [](const ContextHandle& target, const SwitchingKeyHandle& source) {
        return SwitchingKeyHandle{
            std::make_shared<const rlwe::SwitchingKey>(rlwe::copy_to(target.context, *source.key))};
      },
      "target"_a, "source"_a, ReleaseGil());
}

}  // namespace hemera::python
