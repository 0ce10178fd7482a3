// The CUDA backend, its kernels run by the CPU, in the conformance suite.
#include "conformance/suite.hpp"

namespace hemera::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Emulated, BackendTest,
                         ::testing::Values(BackendCase{"cuda",
                                                       [](std::shared_ptr<const poly::Ring> ring) {
                                                         return poly::make_cuda_backend(std::move(ring));
                                                       }}),
                         case_name);

}  // namespace
}  // namespace hemera::conformance
