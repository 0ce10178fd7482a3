#include "hemera/poly/backend.hpp"

#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda_library.hpp"

namespace hemera::poly {

std::unique_ptr<Backend::Recording> Backend::record(Queue& /*queue*/,
                                                    const std::function<void()>& /*operations*/) const {
  throw DeviceError("device '" + device().name() +
                    "' does not record operations; run them, or use a CUDA device");
}

void Backend::check_stored(const char* operation, const char* operand, const ConstPolyView& view) const {
  if (stores(view.word)) return;
  throw MismatchError(std::string(operation) + ": " + operand + " has residues in words of " +
                      std::to_string(word_bits(view.word)) + " bits, which " + device().name() +
                      " does not store; use words of 8 bytes");
}

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings) {
  const runtime::CudaPart& cuda = runtime::cuda_part();
  if (cuda.library == nullptr) {
    throw DeviceError("device '" + runtime::Device{runtime::Device::Kind::cuda, settings.device}.name() +
                      "' is not available: " + cuda.problem);
  }
  return cuda.library->make_backend(std::move(ring), settings);
}

}  // namespace hemera::poly
