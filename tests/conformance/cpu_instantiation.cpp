// The CPU backend, once for every instruction set that this processor has.
#include "conformance/switching.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/cpu/cpu_backend.hpp"

namespace hemera::conformance {
namespace {

std::vector<BackendCase> cpu_cases() {
  std::vector<BackendCase> cases;
  for (const char* name : {"scalar", "avx2", "avx512"}) {
    try {
      const poly::cpu::Kernels& kernels = poly::cpu::select_kernels(name);
      cases.push_back({name, [&kernels](std::shared_ptr<const poly::Ring> ring) {
                         return std::make_shared<const poly::cpu::CpuBackend>(std::move(ring), kernels, 3);
                       }});
    } catch (const DeviceError&) {
      // This machine or this build does not have it.
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cpu, BackendTest, ::testing::ValuesIn(cpu_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cpu, SwitchTest, each_switch(cpu_cases()), switch_name);

}  // namespace
}  // namespace hemera::conformance
