// The CUDA backend in the conformance suite: with the arithmetic that it chooses for each base, and with each
// one wherever it takes the base. On a GPU, or emulated (tests/cuda_emulation). HEMERA_TEST_BRIEF in the
// environment is for compute-sanitizer.
#include <cstdlib>
#include <optional>

#include "conformance/switching.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::conformance {
namespace {

#if defined(HEMERA_CUDA_EMULATION)
constexpr bool emulated = true;
#else
constexpr bool emulated = false;
#endif

BackendCase cuda_case(std::string name, std::optional<poly::cuda::Arithmetic> arithmetic) {
  return {.name = std::move(name),
          .make =
              [arithmetic](std::shared_ptr<const poly::Ring> ring) {
                return std::make_shared<const poly::cuda::CudaBackend>(std::move(ring), poly::CudaSettings{},
                                                                       arithmetic);
              },
          .emulated = emulated,
          .instrumented = !emulated && std::getenv("HEMERA_TEST_BRIEF") != nullptr};
}

std::vector<BackendCase> cuda_cases() {
  return {cuda_case("cuda", std::nullopt), cuda_case("cuda_u64", poly::cuda::Arithmetic::u64),
          cuda_case("cuda_m64", poly::cuda::Arithmetic::m64),
          cuda_case("cuda_f64", poly::cuda::Arithmetic::f64)};
}

INSTANTIATE_TEST_SUITE_P(Cuda, BackendTest, ::testing::ValuesIn(cuda_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cuda, SwitchTest, each_switch(cuda_cases()), switch_name);

}  // namespace
}  // namespace hemera::conformance
