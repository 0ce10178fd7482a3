#include "hemera/runtime/device.hpp"

#include <charconv>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda_library.hpp"

namespace hemera::runtime {

Device Device::parse(std::string_view name) {
  if (name == "cpu") return {Kind::cpu, 0};
  if (name == "cuda") return {Kind::cuda, 0};
  if (name == "ledger") return {Kind::ledger, 0};
  constexpr std::string_view prefix = "cuda:";
  if (name.starts_with(prefix)) {
    const std::string_view digits = name.substr(prefix.size());
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc{} && end == digits.data() + digits.size() && index >= 0) {
      return {Kind::cuda, index};
    }
  }
  throw DeviceError("unknown device '" + std::string(name) +
                    "'; use 'cpu', 'cuda', 'cuda:INDEX' or 'ledger'");
}

std::string Device::name() const {
  if (kind == Kind::cpu) return "cpu";
  return kind == Kind::ledger ? "ledger" : "cuda:" + std::to_string(index);
}

CudaDevices find_cuda_devices() {
  const CudaPart& cuda = cuda_part();
  if (cuda.library == nullptr) return {.devices = {}, .driver = "", .problem = cuda.problem};
  return cuda.library->find_devices();
}

int cuda_device_of(const void* pointer) {
  const CudaPart& cuda = cuda_part();
  if (cuda.library == nullptr) {
    throw DeviceError("an array in the memory of a GPU needs the CUDA backend: " + cuda.problem);
  }
  return cuda.library->device_of(pointer);
}

}  // namespace hemera::runtime
