// Captured graphs: recordings of a context's backend, and the copies into their inputs.
#include <memory>

#include "bindings.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/captured_input.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

struct RecordingHandle {
  std::shared_ptr<const rlwe::Context> context;
  std::unique_ptr<poly::Backend::Recording> recording;
};

// Other threads wait for the recording to end and must be able to run the interpreter meanwhile. So the lock
// is held for the circuit alone.
RecordingHandle record(const ContextHandle& context, const nb::typed<nb::callable, void()>& circuit) {
  const rlwe::Context& own = *context.context;
  const ReleasedGil release;
  return {context.context, own.backend().record(own.queue(), [&] {
            const AcquiredGil acquire;
            circuit();
          })};
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<RecordingHandle>(m, "Recording")
      .def(
          "replay", [](const RecordingHandle& self) { self.recording->replay(self.context->queue()); },
          ReleaseGil());
  m.def(
      "records", [](const ContextHandle& context) { return context.context->backend().records(); },
      "context"_a);
  m.def("record", &record, "context"_a, "circuit"_a);
  m.def("assign", &rlwe::assign_input, "to"_a, "source"_a, ReleaseGil());
}

}  // namespace hemera::python
