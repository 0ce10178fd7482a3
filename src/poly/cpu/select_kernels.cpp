#include <string>
#include <string_view>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {
namespace {

#if defined(HEMERA_X86_KERNELS)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512ifma");
}
#endif

std::vector<const Kernels*> find_kernels() {
  std::vector<const Kernels*> found = {&scalar_kernels()};
#if defined(HEMERA_X86_KERNELS)
  if (has_avx2()) found.push_back(&avx2_kernels());
  if (has_avx512()) found.push_back(&avx512_kernels());
#elif defined(HEMERA_NEON_KERNELS)
  found.push_back(&neon_kernels());
#elif defined(HEMERA_SIMD128_KERNELS)
  found.push_back(&simd128_kernels());
#endif
  return found;
}

}  // namespace

std::span<const Kernels* const> available_kernels() {
  static const std::vector<const Kernels*> found = find_kernels();
  return found;
}

const Kernels& select_kernels(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted.empty()) return *available_kernels().back();
  std::string available;
  for (const Kernels* kernels : available_kernels()) {
    if (wanted == kernels->name) return *kernels;
    available += (available.empty() ? "" : ", ") + std::string(kernels->name);
  }
  if (wanted == "avx2" || wanted == "avx512" || wanted == "neon" || wanted == "simd128") {
    throw DeviceError("this processor or this build of Hemera lacks the instruction set " +
                      std::string(wanted) + " that HEMERA_ISA asks for; available: " + available);
  }
  throw DeviceError("HEMERA_ISA names an unknown instruction set \"" + std::string(wanted) +
                    "\"; use one of: " + available);
}

}  // namespace hemera::poly::cpu
