#include <string>
#include <string_view>

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

}  // namespace

const Kernels& select_kernels(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  std::string available = "scalar";
#if defined(HEMERA_X86_KERNELS)
  if (has_avx512()) {
    if (wanted.empty() || wanted == "avx512") return avx512_kernels();
    available = "avx512, " + available;
  }
  if (has_avx2()) {
    if (wanted.empty() || wanted == "avx2") return avx2_kernels();
    available = "avx2, " + available;
  }
#endif
  if (wanted.empty() || wanted == "scalar") return scalar_kernels();
  if (wanted == "avx2" || wanted == "avx512") {
    throw DeviceError("this processor or this build of Hemera lacks the instruction set " +
                      std::string(wanted) + " that HEMERA_ISA asks for; available: " + available);
  }
  throw DeviceError("HEMERA_ISA names an unknown instruction set \"" + std::string(wanted) +
                    "\"; use one of: " + available);
}

}  // namespace hemera::poly::cpu
