// Captured graphs: recordings of a context's backend, and the copies into their inputs.
#include <memory>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Ciphertext;

struct RecordingHandle {
  std::shared_ptr<const rlwe::Context> context;
  std::unique_ptr<poly::Backend::Recording> recording;
};

// Other threads wait for the recording to end, so they must be able to run the interpreter meanwhile: the
// lock is held for the circuit alone.
RecordingHandle record(const ContextHandle& context, const nb::typed<nb::callable, void()>& circuit) {
  const rlwe::Context& own = *context.context;
  const nb::gil_scoped_release release;
  return {context.context, own.backend().record(own.queue(), [&] {
            const nb::gil_scoped_acquire acquire;
            circuit();
          })};
}

/// What must agree for a captured circuit to be right for another input, in words; empty if all does.
std::string difference(const rlwe::Metadata& example, const rlwe::Metadata& given) {
  if (given.batch != example.batch) {
    return "its batch is " + rlwe::to_text(given.batch) + " and not " + rlwe::to_text(example.batch);
  }
  if (given.level != example.level) {
    return "its level is " + std::to_string(given.level) + " and not " + std::to_string(example.level);
  }
  if (given.scale != example.scale || given.noise_scale_degree != example.noise_scale_degree ||
      given.correction != example.correction) {
    return "its scale or correction factor is another";
  }
  if (given.slots != example.slots || given.encoding != example.encoding) {
    return "it holds other numbers of values, or is encoded differently";
  }
  if (given.largest > example.largest) {
    return "its values may be as large as " + std::to_string(given.largest) + " and not at most " +
           std::to_string(example.largest);
  }
  if (given.noise_log2 > example.noise_log2) {
    return "its noise may be 2^" + std::to_string(given.noise_log2) + " and not at most 2^" +
           std::to_string(example.noise_log2);
  }
  return {};
}

void assign(Ciphertext& to, const Ciphertext& from) {
  rlwe::require_same_context(*to.context, *from.context, "graph");
  std::string problem = difference(to.meta, from.meta);
  if (from.size() != to.size()) problem = "its size is " + std::to_string(from.size()) + "; relinearize it";
  if (!problem.empty()) {
    throw MismatchError("graph: an input is not like the example of the capture: " + problem +
                        "; bring it to the example's shape, level and scale, or capture another graph");
  }
  to.context->backend().copy(to.context->queue(), to.poly.view(), from.poly.view());
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
  m.def("assign", &assign, "to"_a, "source"_a, ReleaseGil());
}

}  // namespace hemera::python
