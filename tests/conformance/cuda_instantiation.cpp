// The CUDA backend in the conformance suite: with the choices that it makes for the device, with each
// arithmetic forced wherever it takes a base, and with other choices forced. On a GPU, or emulated
// (tests/cuda_emulation). HEMERA_TEST_BRIEF in the environment is for compute-sanitizer.
#include <cstdlib>
#include <numeric>
#include <string>

#include "conformance/switching.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::conformance {
namespace {

using poly::cuda::CudaBackend;

#if defined(HEMERA_CUDA_EMULATION)
constexpr bool emulated = true;
// The emulated device keeps launches to what a card has.
void limit_device(const poly::cuda::Card& card) {
  emulation::attributes[cudaDevAttrMaxSharedMemoryPerBlockOptin] =
      static_cast<int>(card.shared_bytes_of_block);
  emulation::attributes[cudaDevAttrClusterLaunch] = card.launches_clusters ? 1 : 0;
}
#else
constexpr bool emulated = false;
void limit_device(const poly::cuda::Card&) {}
#endif

BackendCase cuda_case(std::string name, const std::string& forced) {
  return {.name = std::move(name),
          .make =
              [forced](std::shared_ptr<const poly::Ring> ring) {
                auto made =
                    std::make_unique<const CudaBackend>(std::move(ring), poly::CudaSettings{}, forced);
                limit_device(poly::cuda::choices_for({}, forced).card);
                return std::shared_ptr<const CudaBackend>(made.release(), [](const CudaBackend* backend) {
                  delete backend;
                  limit_device({});
                });
              },
          .emulated = emulated,
          .instrumented = !emulated && std::getenv("HEMERA_TEST_BRIEF") != nullptr};
}

std::vector<BackendCase> cuda_cases() {
  return {cuda_case("cuda", ""), cuda_case("cuda_u64", "arithmetic=u64"),
          cuda_case("cuda_m64", "arithmetic=m64"), cuda_case("cuda_f64", "arithmetic=f64")};
}

// All sizes as small and as large as they may be, and cards without clusters: one with FP64, and one without.
std::vector<BackendCase> forced_cases() {
  const char* least =
      "most_cluster_limbs=0,polynomials_together=1,row_groups_together=0,most_digits_transformed_again=0,"
      "most_jobs_beside_conversion=0,most_joined_jobs=0,least_log_degree_of_joined_digits=0,"
      "largest_log_degree_of_joined_columns=0,most_inverted_limbs=0,least_log_degree_of_inverted_limbs=0,"
      "carve_out=0,least_blocks_of_four=0,most_sources_of_computed_quotients=0,"
      "most_sources_of_computed_quotients_in_small_rings=0,most_sources_of_halves=0,lifted_bytes_together=0,"
      "few_rows=0,"
      "cluster_blocks_of_device=0,cluster_blocks_of_remainders=0,most_cluster_results=1,"
      "most_cluster_key_bytes=0,least_rows_of_bytes=0,least_rows_of_warpgroups=1,least_columns_of_remainders="
      "1,split_bytes_together=0,"
      "most_columns_per_sum=0,least_staged_bytes=0,download_part_bytes=0,hoisted_shared_bytes=0";
  const char* most =
      "most_cluster_limbs=1000000,polynomials_together=1000000,row_groups_together=1000,"
      "most_digits_transformed_again=1000,most_jobs_beside_conversion=1000000,most_joined_jobs=1000000,"
      "least_log_degree_of_joined_digits=0,largest_log_degree_of_joined_columns=99,"
      "most_inverted_limbs=1000000,least_log_degree_of_inverted_limbs=0,carve_out=100,"
      "largest_log_degree_of_carve_out=99,log_degree_of_conversion_carve_out=13,"
      "least_blocks_of_four=1000000,most_sources_of_computed_quotients=8,"
      "most_sources_of_computed_quotients_in_small_rings=8,largest_log_degree_of_small_rings=99,"
      "most_sources_of_halves=1000000,"
      "lifted_bytes_together=1000000000000,few_rows=1000000,cluster_blocks_of_device=1000000,"
      "cluster_blocks_of_remainders=1000000,most_cluster_results=4,most_cluster_key_bytes=32768,"
      "least_rows_of_bytes=1000000,least_rows_of_warpgroups=1000000,least_columns_of_remainders=1000000,"
      "split_bytes_together=1000000000000,"
      "most_columns_per_sum=1000000,least_staged_bytes=1000000000000,download_part_bytes=1000000000000,"
      "hoisted_shared_bytes=1000000";
  // With quotients that are stored, conversions in small rings multiply halves, too. Matrices of any rows are
  // multiplied by warpgroups.
  const char* halves =
      "most_sources_of_halves=14,most_sources_of_computed_quotients=0,"
      "most_sources_of_computed_quotients_in_small_rings=0,least_rows_of_warpgroups=1";
  return {cuda_case("least", least),      cuda_case("most", most),
          cuda_case("halves", halves),    cuda_case("most_in_passes", std::string("clusters=0,") + most),
          cuda_case("a100", "card=a100"), cuda_case("rtx_4090", "card=rtx-4090")};
}

// Cases of switches, ways and other cards as well.
std::vector<BackendCase> forced_switch_cases() {
  std::vector<BackendCase> cases = forced_cases();
  for (const auto& each : {cuda_case("rtx_5090", "card=rtx-5090"), cuda_case("b200", "card=b200"),
                           cuda_case("unfused", "way=unfused"), cuda_case("passes", "way=passes")}) {
    cases.push_back(each);
  }
  return cases;
}

// All of them on a GPU. Emulated, where a switch takes seconds: one special prime, primes of all sizes, and
// two arithmetics in one.
std::vector<std::size_t> forced_switches() {
  if (emulated) return {6, 11, 12};
  std::vector<std::size_t> all(switches().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cuda, BackendTest, ::testing::ValuesIn(cuda_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cuda, SwitchTest, each_switch(cuda_cases()), switch_name);
INSTANTIATE_TEST_SUITE_P(CudaForced, BackendTest, ::testing::ValuesIn(forced_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(CudaForced, SwitchTest,
                         ::testing::Combine(::testing::ValuesIn(forced_switch_cases()),
                                            ::testing::ValuesIn(forced_switches())),
                         switch_name);

}  // namespace
}  // namespace hemera::conformance
