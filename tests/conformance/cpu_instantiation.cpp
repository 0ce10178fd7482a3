// The CPU backend, once for every instruction set that this processor has.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "conformance/checks.hpp"
#include "conformance/switching.hpp"
#include "poly/cpu/cpu_backend.hpp"

namespace hemera::conformance {
namespace {

#if defined(HEMERA_TEST_EMULATED)
constexpr bool emulated = true;
#else
constexpr bool emulated = false;
#endif

std::vector<BackendCase> cpu_cases() {
  std::vector<BackendCase> cases;
  for (const poly::cpu::Kernels* kernels : poly::cpu::available_kernels()) {
    cases.push_back({.name = kernels->name,
                     .make =
                         [kernels](std::shared_ptr<const poly::Ring> ring) {
                           return std::make_shared<const poly::cpu::CpuBackend>(std::move(ring), *kernels, 3);
                         },
                     .emulated = emulated,
                     .only_kernels = true});
  }
  cases.back().only_kernels = false;  // the widest vectors take the least time
  return cases;
}

// The declaration of the interface, without its comments.
std::string declaration() {
  std::ifstream file(HEMERA_TEST_VECTORS "/../../include/hemera/poly/backend.hpp");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("\nclass Backend {");
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find("\n};\n", begin);
  return std::regex_replace(text.substr(begin, end - begin), std::regex("//[^\n]*"), "");
}

std::vector<std::string> names(const std::string& text, const char* pattern) {
  const std::regex function(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), function), none; match != none; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

// An operation that is added to the interface needs an entry in checked/.
TEST(BackendInterface, EveryOperationIsInTheTableOfChecks) {
  const std::string text = declaration();
  const std::vector<std::string> found =
      names(text.substr(0, text.find(" protected:")), "\n  void (\\w+)\\(");
  const std::set<std::string> declared(found.begin(), found.end());
  EXPECT_GT(declared.size(), 30U);
  const std::vector<std::string> checked = checked_operations(cpu_cases().front());
  EXPECT_EQ(declared, std::set<std::string>(checked.begin(), checked.end()));
}

// What a backend may have to implement. A commit that needs more raises the limit and says why.
TEST(BackendInterface, HasFewVirtualFunctions) {
  // Functions of Backend itself, two spaces in; a recording's stand deeper. Destructors have no name here.
  const std::vector<std::string> found =
      names(declaration(), "\n  (?:\\[\\[nodiscard\\]\\] )?virtual [^;{~]*?(\\w+)\\(");
  EXPECT_EQ(std::count(found.begin(), found.end(), "do_switch_keys"), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "record"), 1);
  EXPECT_GT(found.size(), 40U);
  EXPECT_LE(found.size(), 46U) << testing::PrintToString(found);
}

INSTANTIATE_TEST_SUITE_P(Cpu, BackendTest, ::testing::ValuesIn(cpu_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cpu, SwitchTest, each_switch(cpu_cases()), switch_name);

}  // namespace
}  // namespace hemera::conformance
