// The CPU backend, once for every instruction set that this processor has.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "conformance/checks.hpp"
#include "conformance/switching.hpp"
#include "poly/cpu/cpu_backend.hpp"

namespace hemera::conformance {
namespace {

std::vector<BackendCase> cpu_cases() {
  std::vector<BackendCase> cases;
  for (const poly::cpu::Kernels* kernels : poly::cpu::available_kernels()) {
    cases.push_back({kernels->name, [kernels](std::shared_ptr<const poly::Ring> ring) {
                       return std::make_shared<const poly::cpu::CpuBackend>(std::move(ring), *kernels, 3);
                     }});
  }
  return cases;
}

// An operation that is added to the interface needs an entry in checks.cpp.
TEST(BackendInterface, EveryOperationIsInTheTableOfChecks) {
  std::ifstream file(HEMERA_TEST_VECTORS "/../../include/hemera/poly/backend.hpp");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("class Backend {"), end = text.find(" protected:");
  ASSERT_TRUE(begin < end && end != std::string::npos);
  text = text.substr(begin, end - begin);
  const std::regex operation("\\n  void (\\w+)\\(");
  std::set<std::string> declared;
  for (std::sregex_iterator match(text.begin(), text.end(), operation), none; match != none; ++match) {
    declared.insert((*match)[1]);
  }
  EXPECT_GT(declared.size(), 30U);
  const std::vector<std::string> checked = checked_operations(cpu_cases().front());
  EXPECT_EQ(declared, std::set<std::string>(checked.begin(), checked.end()));
}

INSTANTIATE_TEST_SUITE_P(Cpu, BackendTest, ::testing::ValuesIn(cpu_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cpu, SwitchTest, each_switch(cpu_cases()), switch_name);

}  // namespace
}  // namespace hemera::conformance
