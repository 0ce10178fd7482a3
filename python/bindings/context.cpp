// Contexts, and the devices of the machine.
#include "hemera/rlwe/context.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;

/// multiplier: an engine's name; "ntt" stands for the backend's own transforms.
ContextHandle make_context(const rlwe::Parameters& parameters, const std::string& device, int threads,
                           std::size_t memory_limit, const std::string& multiplier,
                           std::optional<std::uintptr_t> stream, const std::string& storage,
                           bool keys_on_host, bool rotates_as_openfhe, bool times_operations) {
  return {rlwe::Context::make(
      parameters, runtime::Device::parse(device),
      {.threads = threads,
       .multiplier = multiplier == "ntt" ? nullptr : multiply::make_ring_multiplier(multiplier),
       .memory_limit = memory_limit,
       .stream = stream,
       .storage = storage == "auto"     ? rlwe::Storage::automatic
                  : storage == "packed" ? rlwe::Storage::packed
                                        : rlwe::Storage::eight_byte,
       .keys = keys_on_host ? rlwe::KeyPlace::host : rlwe::KeyPlace::device,
       .long_rotations = rotates_as_openfhe ? rlwe::LongRotations::openfhe : rlwe::LongRotations::within_rows,
       .ledger = times_operations ? std::make_shared<poly::Ledger>() : nullptr,
       .times_operations = times_operations})};
}

/// Waits for the work of all threads; on the CPU, calls return when it is done.
void synchronize_device(const ContextHandle& self) {
  runtime::Queue& queue = self.context->queue();
  if (queue.device().kind == runtime::Device::Kind::cuda) queue.synchronize_device();
}

/// The names of the devices that contexts can be made on, best first.
std::vector<std::string> devices() {
  std::vector<std::string> names;
  for (const runtime::CudaDevice& device : runtime::find_cuda_devices().devices) {
    if (device.problem.empty()) {
      names.push_back(runtime::Device{runtime::Device::Kind::cuda, device.index}.name());
    }
  }
  names.push_back(runtime::Device{}.name());
  return names;
}

/// The description of the CPU backend, from a backend of a small ring.
std::string describe_cpu(int threads) {
  return poly::make_cpu_backend(poly::Ring::make(poly::min_degree, {}), threads)->description();
}

double level_scale(const ContextHandle& self, std::size_t level) {
  return self.context->scales().level_scale(level);
}

/// The level and scale of a plaintext that is a factor of `a`, or is added to it.
std::tuple<std::size_t, double, double> plain_operand(const ContextHandle& self, const rlwe::Ciphertext& a,
                                                      bool product) {
  const rlwe::ScalePolicy& scales = self.context->scales();
  const auto operand = product ? scales.operand_of_product(a.meta) : scales.operand_of_sum(a.meta);
  return {operand.level, operand.scale, operand.scale.rest()};
}

}  // namespace

void bind_context(nb::module_& m) {
  nb::class_<runtime::CudaDevice>(m, "CudaDevice")
      .def_ro("index", &runtime::CudaDevice::index)
      .def_ro("name", &runtime::CudaDevice::name)
      .def_ro("memory_bytes", &runtime::CudaDevice::memory_bytes)
      .def_prop_ro("compute_capability",
                   [](const runtime::CudaDevice& self) {
                     return std::to_string(self.major) + "." + std::to_string(self.minor);
                   })
      .def_ro("multiprocessors", &runtime::CudaDevice::multiprocessors)
      .def_ro("problem", &runtime::CudaDevice::problem);
  nb::class_<runtime::CudaDevices>(m, "CudaDevices")
      .def_ro("devices", &runtime::CudaDevices::devices)
      .def_ro("driver", &runtime::CudaDevices::driver)
      .def_ro("problem", &runtime::CudaDevices::problem);
  nb::class_<ContextHandle>(m, "Context")
      .def_prop_ro("parameters", [](const ContextHandle& self) { return self.context->parameters(); })
      .def_prop_ro("device",
                   [](const ContextHandle& self) { return self.context->backend().device().name(); })
      .def_prop_ro("description",
                   [](const ContextHandle& self) { return self.context->backend().description(); })
      .def_prop_ro("packs_keys",
                   [](const ContextHandle& self) { return self.context->key_word() == poly::Word::u50; })
      .def_prop_ro(
          "packs_matrix_keys",
          [](const ContextHandle& self) { return self.context->matrix_key_word() == poly::Word::u50; })
      .def_prop_ro("keys_on_host", [](const ContextHandle& self) { return self.context->keys_on_host(); })
      .def_prop_ro("memory_used", [](const ContextHandle& self) { return self.context->memory_used(); })
      .def_prop_ro("host_memory_used",
                   [](const ContextHandle& self) {
                     return self.context->keys_on_host() ? self.context->key_memory()->used() : 0;
                   })
      .def_prop_ro("memory_peak", [](const ContextHandle& self) { return self.context->memory()->peak(); })
      .def("reset_memory_peak", [](const ContextHandle& self) { self.context->memory()->reset_peak(); })
      .def(
          "synchronize", [](const ContextHandle& self) { self.context->queue().synchronize(); }, ReleaseGil())
      .def("synchronize_device", &synchronize_device, ReleaseGil())
      .def("level_scale", &level_scale, "level"_a)
      .def("plain_operand", &plain_operand, "a"_a, "product"_a)
      .def("galois_element",
           [](const ContextHandle& self, std::int64_t steps) { return self.context->galois_element(steps); })
      .def("conjugation_element",
           [](const ContextHandle& self) { return self.context->conjugation_element(); });

  m.def("make_context", &make_context, "parameters"_a, "device"_a, "threads"_a, "memory_limit"_a,
        "multiplier"_a, "stream"_a.none(), "storage"_a, "keys_on_host"_a, "rotates_as_openfhe"_a,
        "times_operations"_a = false, ReleaseGil());
  m.def("devices", &devices, ReleaseGil());
  m.def("find_cuda_devices", &runtime::find_cuda_devices, ReleaseGil());
  m.def("available_processors", &runtime::available_processors);
  m.def("describe_cpu", &describe_cpu, "threads"_a, ReleaseGil());
}

}  // namespace hemera::python
